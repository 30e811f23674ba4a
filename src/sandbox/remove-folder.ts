import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes a folder that a program may have left with folders nobody may enter. Follows no link. */
export async function removeFolder(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 } as const;
  try {
    await rm(path, options);
  } catch {
    await openFolders(path);
    await rm(path, options);
  }
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
  }
}
