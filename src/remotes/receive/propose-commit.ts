import type { Sql } from '../../db/contract.js';
import type { Proposal } from '../../deploys/index.js';
import type { Deps } from '../../deps.js';
import { isAncestor, type Repository } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import { diffTrees, type LiveTree, type PreparedTree, prepareTree, readInReach } from '../../workspaces/index.js';
import type { PushedTree } from './pushed-tree.js';
import type { Outcome } from './report.js';

/**
 * A pushed commit as the tree to make live. Of memory that agents wrote it mentions what it changes itself: the
 * revision's own copy, which every clone carries along, says nothing about it.
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
    // The same files are read once, and again only when another library came in between.
    if (last?.librarySeq !== reach.library.seq) last = await prepareTree(deps, tree.files, reach);
    const { added, changed, removed } = diffTrees(live.source, shas);
    return {
      prepared: withIssues(last, tree),
      mentions: new Set([...added, ...changed, ...removed]),
      commit: tree.commit,
    };
  };
}

/** What the listing found comes beside what the checker finds, all at once. */
export function withIssues(prepared: PreparedTree, { issues }: Pick<PushedTree, 'issues'>): PreparedTree {
  if (issues.length === 0) return prepared;
  return { ...prepared, workspace: null, issues: [...issues, ...prepared.issues] };
}

/** Refuses `conflict` unless the push began from what is live. */
export function requireNewest(live: { readonly gitCommit: string | null }, old: string | null): void {
  if (live.gitCommit === old) return;
  throw new Refusal('conflict', 'fetch first: main has moved on since you fetched it', { code: 'push/fetch-first' });
}

/** Whether a commit comes after what was there: nearly always the one before it is its parent. */
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
