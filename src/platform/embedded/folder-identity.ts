import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The identity (device and inode) of the folder of a file: the same after a move, another for a copy. Empty when the
 * folder does not exist.
 */
export function folderOf(file: string): string {
  return idOf(dirname(file));
}

/**
 * True if a record in this file belongs to its folder. A copied folder contains records of processes that serve the
 * original. Older builds recorded no folder: then the process's working folder counts, where the system shows it.
 */
export function isOfFolder(
  file: string,
  { pid, folder }: { readonly pid: number; readonly folder?: string | undefined },
) {
  if (folder !== undefined) return folder === folderOf(file);
  if (process.platform !== 'linux') return true;
  const root = dirname(file);
  return [root, join(root, 'postgres')].map(idOf).includes(idOf(`/proc/${pid}/cwd`));
}

/**
 * True if a live process works in another folder than this. A Postgres always works in its data folder. False when the
 * system does not show the process's folder.
 */
export function worksElsewhere(folder: string, pid: number): boolean {
  if (process.platform !== 'linux' || !Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    const at = idOf(`/proc/${pid}/cwd`);
    return at !== '' && at !== idOf(folder);
  } catch {
    return false;
  }
}

function idOf(path: string): string {
  const entry = statSync(path, { bigint: true, throwIfNoEntry: false });
  return entry === undefined ? '' : `${entry.dev}:${entry.ino}`;
}
