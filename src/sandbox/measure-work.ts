import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Limits } from './limits.js';

export interface WorkUse {
  /** Blocks on the disk, so a sparse file counts what it holds. */
  bytes: number;
  files: number;
}

/** Deleted meanwhile, or replaced by a file. */
const GONE = new Set(['ENOENT', 'ENOTDIR']);

/**
 * The size of a folder, counted only until a limit is exceeded. An unreadable folder (closed by its program, or nested
 * deeper than the longest path) could hold anything, so it counts as too large.
 */
export async function measureFolder(folder: string, limits: Limits): Promise<WorkUse> {
  const use: WorkUse = { bytes: 0, files: 0 };
  const rest = [folder];
  for (let next = rest.pop(); next !== undefined && findOverrun(use, limits) === null; next = rest.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (!GONE.has(error.code ?? '')) use.bytes = Number.POSITIVE_INFINITY;
      return [];
    });
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) rest.push(path);
      use.files += 1;
      use.bytes += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
      if (findOverrun(use, limits)) break;
    }
  }
  return use;
}

/** The limit that a folder is over, or null. */
export function findOverrun(use: WorkUse, limits: Limits): 'disk' | 'files' | null {
  if (use.bytes > limits.work) return 'disk';
  return use.files > limits.workFiles ? 'files' : null;
}
