import { refusedTree } from '../../content/index.js';
import type { Repository } from '../../git/index.js';
import { type PushedTree, readPushedTree } from '../receive/pushed-tree.js';

/**
 * The files of an existing commit, checked like those of a push, since only the newest commit of a push was checked.
 * Refuses `refused` for links, submodules and trees over the limits.
 */
export async function treeOfCommit(repository: Repository, commit: string): Promise<PushedTree> {
  const tree = await readPushedTree(repository, commit);
  if (tree.issues.length > 0) throw refusedTree(`the commit ${commit}`, tree.issues);
  return tree;
}
