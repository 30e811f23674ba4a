import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { explainFileError } from './start-error.js';

/** The paths of one installation's data. */
export interface DataFolder {
  readonly root: string;
  readonly postgres: string;
  readonly postgresPassword: string;
  readonly temporalFile: string;
  readonly logs: string;
  readonly lock: string;
  /** Which servers of this folder were started, so that a start after a crash finds orphaned ones. */
  readonly processes: string;
}

export function dataFolder(path: string): DataFolder {
  const root = resolve(path);
  return {
    root,
    postgres: join(root, 'postgres'),
    postgresPassword: join(root, 'postgres-password'),
    temporalFile: join(root, 'temporal.sqlite'),
    logs: join(root, 'logs'),
    lock: join(root, 'lock'),
    processes: join(root, 'processes.json'),
  };
}

/** Prepares the folder for the embedded servers. Throws an error for people when that is impossible. */
export async function prepareDataFolder(folder: DataFolder): Promise<void> {
  await makeDataFolder(folder.root);
  try {
    await mkdir(folder.logs, { recursive: true, mode: 0o700 });
    // As root, Postgres runs as another user, who must be able to enter the folder. All files inside are private.
    if (process.getuid?.() === 0) await chmod(folder.root, 0o711);
  } catch (error) {
    throw explainFileError(error, folder.logs);
  }
}

/** Creates the folder for its owner only, and proves that it is writable. Throws an error for people when not. */
export async function makeDataFolder(root: string): Promise<void> {
  const probe = join(root, `.probe-${process.pid}`);
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    // Write a whole page, since an empty file can be created even on a full disk.
    await writeFile(probe, Buffer.alloc(4_096));
  } catch (error) {
    throw explainFileError(error, root);
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}
