import { existsSync } from 'node:fs';
import { constants, type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** With /proc/self/fd, paths below an open folder stay valid when a program replaces the folder by a link. */
const HAS_PROC = existsSync('/proc/self/fd');

/** An open folder of a lane. Programs write its content, so every name is opened without following links. */
export interface Folder {
  readonly handle: FileHandle;
  /** The host's path of an entry, safe to use while the folder is open. */
  at(name: string): string;
  close(): Promise<void>;
}

export async function openFolder(path: string): Promise<Folder> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const base = HAS_PROC ? `/proc/self/fd/${handle.fd}` : path;
  return { handle, at: (name) => join(base, name), close: () => handle.close() };
}

/** Runs `work` in a nested folder; with `make`, creates missing folders. Throws ENOENT, ENOTDIR or ELOOP. */
export async function inFolder<T>(
  path: readonly string[],
  { root, make }: { readonly root: string; readonly make: { readonly uid: number | undefined } | null },
  work: (folder: Folder) => Promise<T>,
): Promise<T> {
  let folder = await openFolder(root);
  try {
    for (const name of path) {
      const next = folder.at(name);
      const isNew = make !== null && (await makeFolder(next));
      const inner = await openFolder(next);
      await folder.close();
      folder = inner;
      if (isNew && make?.uid !== undefined) await folder.handle.chown(make.uid, make.uid);
    }
    return await work(folder);
  } finally {
    await folder.close();
  }
}

async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o755 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
