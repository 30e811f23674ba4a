import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { constants, open, rename, rm } from 'node:fs/promises';
import { inFolder } from './folder-handle.js';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL } = constants;
/** Error codes for "no such file" when links are not followed and folders may be anything. */
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

export interface LaneFile {
  readonly content: Buffer;
  readonly stat: Stats;
}

export type LaneRead = LaneFile | { readonly content: null; readonly why: string };

/**
 * A file that a program may have left (security 23): opened without following links and without blocking, regular
 * files only, up to `maxBytes`. Null when there is none; else why it was not read.
 */
export async function readLaneFile(work: string, path: string, maxBytes: number): Promise<LaneRead | null> {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  try {
    return await inFolder(parts, { root: work, make: null }, async (folder) => {
      const file = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        const stat = await file.stat();
        if (!stat.isFile()) return { content: null, why: 'it is not a regular file' };
        if (stat.size > maxBytes)
          return { content: null, why: `it is ${stat.size} bytes, over the limit of ${maxBytes}` };
        const content = Buffer.alloc(stat.size);
        const { bytesRead } = await file.read(content, 0, stat.size, 0);
        return { content: content.subarray(0, bytesRead), stat };
      } finally {
        await file.close();
      }
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'ELOOP') return { content: null, why: 'it is, or lies behind, a symbolic link' };
    if (code === 'ENXIO' || code === 'EACCES') return { content: null, why: 'it cannot be opened for reading' };
    throw error;
  }
}

export interface LaneWrite {
  readonly work: string;
  readonly path: string;
  readonly content: Uint8Array;
  /** The user that programs run as, when it is not the worker's own. */
  readonly uid: number | undefined;
}

/** Writes a file under a temporary name and renames it, which replaces a link or a pipe of that name. */
export async function writeLaneFile({ work, path, content, uid }: LaneWrite): Promise<void> {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  await inFolder(parts, { root: work, make: { uid } }, async (folder) => {
    const temporary = folder.at(`.${randomUUID()}`);
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
    try {
      await file.writeFile(content);
      if (uid !== undefined) await file.chown(uid, uid);
    } finally {
      await file.close();
    }
    try {
      await rename(temporary, folder.at(name));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  });
}

/** True for errors that say that a part of the path is missing or not a folder. */
export function isAbsent(error: unknown): boolean {
  return ABSENT.has((error as NodeJS.ErrnoException).code ?? '');
}
