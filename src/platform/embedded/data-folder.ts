import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { explainFileError } from './start-error.js';

/** Where everything of one installation lies. */
export interface DataFolder {
  readonly root: string;
  readonly postgres: string;
  readonly postgresPassword: string;
  readonly temporalFile: string;
  readonly logs: string;
  readonly lock: string;
  /** Which servers of this folder were started, so that a start after a crash finds the orphans. */
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

/** The folder as the embedded servers need it; refuses with a sentence when it cannot be. */
export async function prepareDataFolder(folder: DataFolder): Promise<void> {
  await makeDataFolder(folder.root);
  try {
    await mkdir(folder.logs, { recursive: true, mode: 0o700 });
    // As root, Postgres runs as another user, who must pass through; all that lies inside is its owner's only.
    if (process.getuid?.() === 0) await chmod(folder.root, 0o711);
  } catch (error) {
    throw explainFileError(error, folder.logs);
  }
}

/** Makes the folder, its owner's only, and proves that it can be written; refuses with a sentence when not. */
export async function makeDataFolder(root: string): Promise<void> {
  const probe = join(root, `.probe-${process.pid}`);
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    // A page, since an empty file can still be made on a full disk.
    await writeFile(probe, Buffer.alloc(4_096));
  } catch (error) {
    throw explainFileError(error, root);
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}
