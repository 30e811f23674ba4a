import { randomBytes } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { PromiseFsClient } from 'isomorphic-git';

/**
 * The file system for isomorphic-git, which itself writes objects and refs in place. A process killed during such a
 * write would leave a truncated object that is never rewritten. So this writes a temporary file, syncs it and renames
 * it.
 */
export const gitFs: PromiseFsClient = { promises: { ...fs, writeFile: writeWhole } };

async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const part = partName(path);
  const file = await fs.open(part, 'wx', 0o644);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
  await fs.rename(part, path);
}

/** Temporary files are named like git's own, `tmp_obj_*` and `*.lock`, so git ignores those of a killed process. */
function partName(path: string): string {
  const unique = randomBytes(6).toString('hex');
  const isObject = /^[0-9a-f]{38}$/.test(basename(path));
  return join(dirname(path), isObject ? `tmp_obj_${unique}` : `${basename(path)}.${unique}.lock`);
}
