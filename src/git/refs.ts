import { Errors, resolveRef, writeRef } from 'isomorphic-git';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';

export const MAIN = 'refs/heads/main';

/** The commit a ref names; null when there is no such ref. */
export async function readRef(repository: Repository, ref: string): Promise<string | null> {
  try {
    return await resolveRef({ fs: gitFs, gitdir: repository.gitdir, ref });
  } catch (error) {
    if (error instanceof Errors.NotFoundError) return null;
    throw error;
  }
}

/** Points a ref at a commit, wherever it pointed before. Who may move it, and when, is the caller's to know. */
export async function moveRef(repository: Repository, ref: string, commit: string): Promise<void> {
  await writeRef({ fs: gitFs, gitdir: repository.gitdir, ref, value: commit, force: true });
}
