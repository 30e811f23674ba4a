import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Limits } from './limits.js';
import { insideProc, listNumbers } from './watchdog.js';

export interface WorkUse {
  /** Blocks on the disk, so a sparse file counts what it holds. */
  bytes: number;
  files: number;
}

/** Gone meanwhile, or no folder any more. */
const GONE = new Set(['ENOENT', 'ENOTDIR']);

/**
 * What a folder takes, no further than its limits: what is over them need not be counted to the end. A folder that
 * cannot be looked into (closed by its program, or deeper than a path can be long) could hold anything: it is too much.
 */
export async function measureFolder(folder: string, limits: Limits): Promise<WorkUse> {
  const use: WorkUse = { bytes: 0, files: 0 };
  const rest = [folder];
  for (let next = rest.pop(); next !== undefined && !isOver(use, limits); next = rest.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (!GONE.has(error.code ?? '')) use.bytes = Number.POSITIVE_INFINITY;
      return [];
    });
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) rest.push(path);
      use.files += 1;
      use.bytes += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
      if (isOver(use, limits)) break;
    }
  }
  return use;
}

/** Bytes of files that are deleted but still open, and of memory files: no folder shows them. */
export async function measureHidden(init: number): Promise<number> {
  const proc = insideProc(init);
  if (proc === null) return 0;
  const seen = new Map<string, number>();
  for (const entry of listNumbers(proc)) {
    for (const descriptor of listNumbers(`${proc}/${entry}/fd`)) {
      const path = `${proc}/${entry}/fd/${descriptor}`;
      const target = await readlink(path).catch(() => '');
      if (!target.endsWith(' (deleted)')) continue;
      const file = await stat(path).catch(() => null);
      if (file?.isFile()) seen.set(`${file.dev}:${file.ino}`, file.blocks * 512);
    }
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

export function isOver(use: WorkUse, limits: Limits): boolean {
  return use.bytes > limits.work || use.files > limits.workFiles;
}
