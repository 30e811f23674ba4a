import { listTree, type Repository, readCommit, readObjects, type TreeFault } from '../git/index.js';
import { notFound } from '../shared/refusal.js';
import type { Issue, SourceFile } from '../workspace/model.js';
import { refusedTree } from '../workspaces/index.js';

export interface CommitTree {
  readonly commit: string;
  /** The id of its tree. */
  readonly tree: string;
  readonly message: string;
  readonly files: readonly SourceFile[];
  /** The paths that are marked as programs. */
  readonly executable: ReadonlySet<string>;
}

const BUDGET = { maxFiles: 10_000, maxBytes: 32 * 1024 * 1024 };

/** The files of a commit. Refuses `refused` for what no workspace holds: links, submodules, more than there may be. */
export async function treeOfCommit(repository: Repository, commit: string): Promise<CommitTree> {
  const found = await readCommit(repository, commit);
  if (!found) throw notFound('commit');
  const { files, faults } = await listTree(repository, commit, BUDGET);
  if (faults.length > 0) throw refusedTree(`the commit ${commit}`, faults.map(issueOf));
  const contents = await readObjects(
    repository,
    files.map(({ sha }) => sha),
    BUDGET.maxBytes,
  );
  return {
    commit,
    tree: found.tree,
    message: found.message.trim(),
    files: files.map(({ path, sha }) => ({ path, content: contents.get(sha) ?? new Uint8Array() })),
    executable: new Set(files.filter(({ executable }) => executable).map(({ path }) => path)),
  };
}

function issueOf({ path, kind, message }: TreeFault): Issue {
  const text = kind === 'too-large' ? message : `It ${message}.`;
  return { path, line: 1, column: 1, code: `git/${kind}`, severity: 'error', message: text };
}
