import type { Repository } from '../git/index.js';
import { type PushedTree, readPushedTree } from '../remotes/index.js';
import { refusedTree } from '../workspaces/index.js';

/**
 * The files of a commit that is there, read as those of a push are: of a push only the newest commit was. Refuses
 * `refused` for what no workspace holds: links, submodules, more than there may be.
 */
export async function treeOfCommit(repository: Repository, commit: string): Promise<PushedTree> {
  const tree = await readPushedTree(repository, commit);
  if (tree.issues.length > 0) throw refusedTree(`the commit ${commit}`, tree.issues);
  return tree;
}
