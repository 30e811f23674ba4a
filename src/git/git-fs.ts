import { randomBytes } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { PromiseFsClient } from 'isomorphic-git';

/**
 * The file system as isomorphic-git sees it. It writes objects and refs in place, and a process killed
 * half-way would leave a cut object that is never written again; here a file is whole or absent, and synced.
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

/** What a killed process leaves must be what git itself would leave and pass over: `tmp_obj_*` and `*.lock`. */
function partName(path: string): string {
  const unique = randomBytes(6).toString('hex');
  const isObject = /^[0-9a-f]{38}$/.test(basename(path));
  return join(dirname(path), isObject ? `tmp_obj_${unique}` : `${basename(path)}.${unique}.lock`);
}
