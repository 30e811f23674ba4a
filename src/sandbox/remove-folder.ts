import { randomUUID } from 'node:crypto';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Half of the kernel's maximum path length (PATH_MAX), so that a name of any length can be appended. */
const LONG_PATH = 2_048;

/**
 * Removes a folder whose program may have left unreadable folders in it, or nested deeper than the longest path. Call it
 * only after its processes ended. Follows no links.
 */
export async function removeFolder(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 } as const;
  try {
    await rm(path, options);
  } catch {
    await openFolders(path);
    await rm(path, options);
  }
}

/**
 * Makes every folder accessible and moves up what is nested too deep. The failed removal may still run on other folders,
 * so missing entries are fine.
 */
async function openFolders(root: string): Promise<void> {
  await chmod(root, 0o700).catch(unlessGone);
  const rest = [root];
  for (let folder = rest.pop(); folder !== undefined; folder = rest.pop()) {
    for (const entry of (await readdir(folder, { withFileTypes: true }).catch(unlessGone)) ?? []) {
      if (!entry.isDirectory()) continue;
      const found = join(folder, entry.name);
      await chmod(found, 0o700).catch(unlessGone);
      const short = found.length > LONG_PATH ? join(root, randomUUID()) : found;
      if (short !== found) await rename(found, short).catch(unlessGone);
      rest.push(short);
    }
  }
}

function unlessGone(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
