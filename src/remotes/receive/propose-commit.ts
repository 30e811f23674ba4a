import {
  diffTrees,
  type LiveTree,
  type PreparedTree,
  type Proposal,
  prepareTree,
  readInReach,
} from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { isAncestor, type Repository } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { PushedTree } from './pushed-tree.js';
import type { Outcome } from './report.js';

/**
 * A pushed commit as the tree to make live. Of the agents' memory it mentions only what the push changes: the copy in
 * the revision, which every clone contains, is not a change.
 */
export function createProposal(
  deps: Deps,
  tenant: string,
  tree: PushedTree,
): (sql: Sql, workspaceId: string, live: LiveTree) => Promise<Proposal> {
  const shas = new Map(tree.files.map((file) => [file.path, file]));
  let last: PreparedTree | undefined;
  return async (sql, workspaceId, live) => {
    const reach = await readInReach(sql, tenant, workspaceId);
    // The files are checked once, and again only if the library has changed.
    if (last?.librarySeq !== reach.library.seq) last = await prepareTree(deps, tree.files, reach);
    const { added, changed, removed } = diffTrees(live.source, shas);
    return {
      prepared: withIssues(last, tree),
      mentions: new Set([...added, ...changed, ...removed]),
      commit: tree.commit,
    };
  };
}

/** Adds the issues of the tree's listing to those of the checker. */
export function withIssues(prepared: PreparedTree, { issues }: Pick<PushedTree, 'issues'>): PreparedTree {
  if (issues.length === 0) return prepared;
  return { ...prepared, workspace: null, issues: [...issues, ...prepared.issues] };
}

/** Refuses `conflict` unless the push started from the live commit. */
export function requireNewest(live: { readonly gitCommit: string | null }, old: string | null): void {
  if (live.gitCommit !== old) throw fetchFirst();
}

export function fetchFirst(): Refusal {
  return new Refusal('conflict', 'fetch first: main has moved on since you fetched it', { code: 'push/fetch-first' });
}

/** Whether the push is a fast-forward. Nearly always the old commit is a parent, which needs no git process. */
export async function comesAfter(
  inside: Repository,
  { commit, parents }: PushedTree,
  old: string | null,
): Promise<boolean> {
  return old === null || parents.includes(old) || isAncestor(inside, old, commit.id);
}

export const NOT_FORWARD: Outcome = {
  kind: 'no',
  reason: 'non-fast-forward: main only grows; pull, then push again',
};
