import {
  alignRefs,
  applyTree,
  dropPack,
  insertRefusal,
  linkPack,
  liveRuns,
  readLiveTree,
  storePack,
  writeChange,
} from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import type { Issue } from '../../format/index.js';
import { adoptPack, isAncestor, mergeCommits, type Repository } from '../../git/index.js';
import { audit, type RecordAnswer } from '../../people/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import { createProposal } from '../receive/propose-commit.js';
import { type PushedTree, readPushedTree } from '../receive/pushed-tree.js';
import { raisePush } from '../receive/raise-push.js';
import { endPending, markRefused, PENDING, type PendingPush, readPending } from './pending-rows.js';

/** How many paths a reason names. */
const NAMED = 5;

/** The outcome for a pending push; `none` when no push is pending. */
export type Applied =
  | { readonly kind: 'applied'; readonly result: DeployResultBody }
  | { readonly kind: 'waiting' | 'none' }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** For the workflow: applies the pending push of a workspace, unless runs are live. Idempotent. */
export async function applyPendingPush(deps: Deps, workspaceId: string): Promise<'waiting' | 'done'> {
  const { kind } = await applyPending(deps, workspaceId, { overLiveRuns: false });
  return kind === 'waiting' ? 'waiting' : 'done';
}

/**
 * Applies the pending push: as a fast-forward if the live commit is its ancestor, else as a merge with the live commit.
 * A push that conflicts, or whose tree no longer passes the checks, is refused: it stays pending, with the reason,
 * until a member acts on it. `retry` tries such a push again.
 */
export async function applyPending(
  deps: Deps,
  workspaceId: string,
  { overLiveRuns, retry = false, recordAnswer }: ApplyOptions,
): Promise<Applied> {
  for (;;) {
    const pending = await readPending(deps.db, workspaceId);
    const repository = pending && (await alignRefs(deps, workspaceId));
    if (!pending || !repository || (pending.isRefused && !retry)) return { kind: 'none' };
    try {
      const applied = await apply(deps, repository, { pending, overLiveRuns, recordAnswer });
      // Another deploy came first: try again with what is live now.
      if (applied.kind === 'stale') continue;
      return applied;
    } catch (error) {
      // Another push came first: apply that one.
      if (error instanceof Superseded) continue;
      if (!(error instanceof Refusal) || error.kind !== 'refused') throw error;
      // A newer push has replaced it: apply that one.
      if (!(await refusePending(deps, pending, error))) continue;
      return { kind: 'refused', refusal: error };
    }
  }
}

/** Another push waits in its place. Aborts the transaction. */
class Superseded extends Error {
  override readonly name = 'Superseded';
}

interface ApplyOptions {
  readonly overLiveRuns: boolean;
  readonly retry?: boolean;
  readonly recordAnswer?: RecordAnswer | undefined;
}

interface Work {
  readonly pending: PendingPush;
  readonly overLiveRuns: boolean;
  /** Stores the answer for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer: RecordAnswer | undefined;
}

async function apply(
  deps: Deps,
  repository: Repository,
  { pending, overLiveRuns, recordAnswer }: Work,
): Promise<Applied | { readonly kind: 'stale' }> {
  const { workspaceId, oid, caller } = pending;
  const live = await readLiveTree(deps.db, workspaceId);
  if (live.gitCommit !== null && (await isAncestor(repository, oid, live.gitCommit))) {
    await deps.db.transaction((sql) => endPending(sql, pending));
    return { kind: 'none' };
  }
  // Checked first: a push that waits is not refused, since what is live may change until its turn.
  if (!overLiveRuns && (await liveRuns(deps.db, workspaceId)).count > 0) return { kind: 'waiting' };
  const ready = await readyCommit(deps, repository, { pending, live: live.gitCommit, at: new Date(deps.clock.now()) });
  failpoint('push-merged');
  try {
    const outcome = await applyTree(deps, caller, {
      workspace: pending.workspace,
      what: 'the push that waited',
      propose: createProposal(deps, caller.tenant, ready.tree),
      onto: live.gitCommit,
      ...{ id: null, via: 'push', base: null, overLiveRuns, dryRun: false, recordAnswer },
      message: () => ready.tree.message,
      inTransaction: async (sql) => {
        if (!(await endPending(sql, pending))) throw new Superseded();
        if (ready.pack) await linkPack(sql, workspaceId, ready.pack.id);
        const moved = { ref: 'refs/heads/main', before: live.gitCommit, after: ready.tree.commit.id };
        await raisePush(sql, { id: workspaceId, caller }, moved);
      },
    });
    if ('result' in outcome) return { kind: 'applied', result: outcome.result };
    return { kind: outcome.kind === 'blocked' ? 'waiting' : 'stale' };
  } finally {
    // Deletes the pack only if no transaction has linked it.
    if (ready.pack) await dropPack(deps, ready.pack);
  }
}

interface Ready {
  readonly tree: PushedTree;
  /** The pack of a merge; null for a fast-forward. */
  readonly pack: Awaited<ReturnType<typeof storePack>> | null;
}

/** The pushed commit itself if it is a fast-forward, else its merge with the live commit. */
async function readyCommit(
  deps: Deps,
  repository: Repository,
  { pending, live, at }: { readonly pending: PendingPush; readonly live: string | null; readonly at: Date },
): Promise<Ready> {
  const { oid, caller, workspaceId } = pending;
  if (live === null || (await isAncestor(repository, live, oid)))
    return { tree: await readPushedTree(repository, oid), pack: null };
  const message = `Merge the push ${oid.slice(0, 12)} that waited`;
  const merge = await mergeCommits(repository, { into: live, commit: oid, by: caller.actor, message, at });
  if (merge.kind === 'conflict') {
    const where = merge.paths.slice(0, 20).join(', ');
    throw new Refusal(
      'refused',
      `the push ${oid.slice(0, 12)} that waited conflicts with what was changed meanwhile, in ${where}; fetch ${PENDING}, merge, and push again`,
      { code: 'push/conflict', paths: merge.paths },
    );
  }
  try {
    const pack = await storePack(deps, workspaceId, merge.pack);
    await adoptPack(repository, merge.pack);
    return { tree: await readPushedTree(repository, merge.commit), pack };
  } finally {
    await merge.quarantine.remove();
  }
}

/**
 * Marks the pending push as refused, with its reason: an entry in history and in the audit,
 * and a notification to its pusher, all in one transaction. A retry by hand only updates the reason, since its caller
 * gets the refusal. False when another push took its place.
 */
async function refusePending(deps: Deps, pending: PendingPush, refusal: Refusal): Promise<boolean> {
  const { workspaceId, workspace, oid, caller, isRefused } = pending;
  const { reason, paths } = describeRefusal(refusal);
  return deps.db.transaction(async (sql) => {
    if (!(await markRefused(sql, pending, reason))) return false;
    if (isRefused) return true;
    await audit(sql, caller, 'git.push.refused', workspace, { ref: PENDING, commit: oid, reason });
    await writeChange(sql, {
      workspaceId,
      id: newId(),
      at: new Date(deps.clock.now()),
      via: 'push',
      by: caller.actor,
      message: `Refused the push ${oid.slice(0, 12)}: ${reason}`,
      before: new Map(),
      after: new Map(),
      revisionSeq: null,
      runId: null,
      givenId: oid,
      refused: { reason, paths },
    });
    await insertRefusal(sql, caller, { workspace, via: 'push', reason: refusal.message, toPusher: true });
    return true;
  });
}

function describeRefusal({ message, details }: Refusal): {
  readonly reason: string;
  readonly paths: readonly string[];
} {
  const { code, paths, issues } = details as {
    readonly code?: string;
    readonly paths?: readonly string[];
    readonly issues?: readonly Issue[];
  };
  if (code === 'push/conflict' && paths) return { reason: `conflicts in ${listPaths(paths)}`, paths };
  const faulty = [...new Set((issues ?? []).filter(({ severity }) => severity === 'error').map(({ path }) => path))];
  if (faulty.length === 0) return { reason: message, paths: [] };
  return { reason: `has errors in ${listPaths(faulty.map((path) => path || 'the tree'))}`, paths: faulty };
}

function listPaths(paths: readonly string[]): string {
  const more = paths.length - NAMED;
  return `${paths.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
