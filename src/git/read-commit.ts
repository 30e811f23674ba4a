import { Errors, readBlob as readBlobObject, readCommit as readCommitObject, TREE, walk } from 'isomorphic-git';
import type { TreeFile } from './folders.js';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';

const LINK = 0o120000;

export interface Commit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
}

/** Null when the repository has no such commit. */
export async function readCommit(repository: Repository, id: string): Promise<Commit | null> {
  try {
    const { commit } = await readCommitObject({ fs: gitFs, gitdir: repository.gitdir, oid: id });
    return { id, tree: commit.tree, parents: commit.parent, message: commit.message };
  } catch (error) {
    if (error instanceof Errors.NotFoundError) return null;
    throw error;
  }
}

/** Every file of a commit's tree, by path. Links and submodules are left out. */
export async function readCommitFiles(repository: Repository, commit: string): Promise<readonly TreeFile[]> {
  const files: TreeFile[] = [];
  await walk({
    fs: gitFs,
    gitdir: repository.gitdir,
    trees: [TREE({ ref: commit })],
    map: async (path, [entry]) => {
      if (entry && (await entry.type()) === 'blob' && (await entry.mode()) !== LINK) {
        files.push({ path, sha: await entry.oid() });
      }
      return undefined;
    },
  });
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function readBlob(repository: Repository, sha: string): Promise<Uint8Array> {
  const { blob } = await readBlobObject({ fs: gitFs, gitdir: repository.gitdir, oid: sha });
  return blob;
}
