import { audit, type RecordAnswer } from '../accounts/index.js';
import type { DeployResultBody } from '../contract/deploys.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { failpoint } from '../shared/failpoint.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { Workspace } from '../workspace/model.js';
import {
  alignMain,
  diffMarkedTrees,
  findWorkspace,
  inTurn,
  isEmptyDiff,
  type LiveTree,
  liveRuns,
  lockLibrary,
  markPrograms,
  type OnStale,
  type PreparedTree,
  type ReadyCommit,
  type RevisionInput,
  raiseEvent,
  readLiveTree,
  refusedTree,
  requireNoPreview,
  StalePlan,
  type TreeDiff,
  treeAfter,
  visibleTree,
  writeRevision,
} from '../workspaces/index.js';
import { findRepeat } from './find-repeat.js';

/** A whole new tree, and the memory files of agents that it replaces. */
export interface Proposal {
  readonly prepared: PreparedTree;
  readonly mentions: ReadonlySet<string>;
  /** Files that the caller did not send: memory of agents that stays. */
  readonly kept?: ReadonlySet<string> | undefined;
  /** An existing commit of these files, on top of the live one; without it a commit is created. `inTransaction` adopts its pack. */
  readonly commit?: ReadyCommit | undefined;
  /** The executable paths; without it each file keeps its mark. */
  readonly executable?: ReadonlySet<string> | undefined;
}

export interface TreeRequest {
  readonly workspace: string;
  /** How a refusal names the tree; `the tree` when left out. */
  readonly what?: string | undefined;
  /** Makes the new tree from the live one. Called again when another revision went live first; throws a refusal. */
  readonly propose: (sql: Sql, workspaceId: string, live: LiveTree) => Promise<Proposal>;
  /** The revision's id, a full hash; null uses the id of the git commit. */
  readonly id: string | null;
  /** Another id to use if it is free, and the id as the caller gave it. */
  readonly preferredId?: string | null;
  readonly givenId?: string | null;
  readonly via: RevisionInput['via'];
  readonly message: (diff: TreeDiff) => string;
  /** The revision that the caller expects to be live. */
  readonly base: string | null;
  readonly overLiveRuns: boolean;
  readonly dryRun: boolean;
  /** Stores the answer for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer?: RecordAnswer | undefined;
  /** Runs before the transaction, after all checks: stores what the transaction refers to. Harmless when the deploy fails. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** The caller moves the ref of `main` itself, with others. */
  readonly leavesMain?: boolean | undefined;
  /** Further writes in the transaction of the change. Not called when nothing changes. */
  readonly inTransaction?: ((sql: Sql, applied: DeployResultBody) => Promise<void>) | undefined;
}

interface Draft extends Proposal {
  readonly live: LiveTree;
  /** The files with their executable marks. */
  readonly marked: ReturnType<typeof markPrograms>;
  readonly diff: TreeDiff;
}

/** A tree that was read and checked before its transaction. */
export interface TreePlan {
  readonly workspaceId: string;
  /** The answer of a request that writes nothing; null when the tree must go live. */
  readonly early: DeployResultBody | null;
  /** Makes the tree live in the caller's transaction. The caller must be in the workspace's turn (`inTurn`). Safe to retry. */
  readonly apply: (sql: Sql, onStale: OnStale) => Promise<DeployResultBody>;
}

/**
 * Makes a tree live, all or nothing. It is checked before the workspace's row is locked, and again under the lock only
 * when another writer came first, in the workspace or in the account's library. Refuses `refused` with every issue, and
 * `conflict` while runs are live, on a stale `base`, for a preview, or when the id belongs to another tree.
 */
export async function applyTree(deps: Deps, caller: Caller, request: TreeRequest): Promise<DeployResultBody> {
  const { workspaceId, early, apply } = await planTree(deps, caller, request);
  if (early) return early;
  await request.prepare?.();
  const result = await inTurn(workspaceId, () => deps.db.transaction((sql) => apply(sql, 'check-again')));
  failpoint('pointer-swapped');
  // The revision is live. A ref that cannot be moved now is moved at the next access to the repository.
  if (!request.leavesMain)
    await alignMain(deps, workspaceId).catch((error: unknown) =>
      deps.log.warn({ workspaceId, err: error }, 'failed to move the ref of a deploy, will retry'),
    );
  return result;
}

/** Reads and checks the tree, for a transaction of the caller. Refuses as `applyTree` does; so does the plan's `apply`. */
export async function planTree(deps: Deps, caller: Caller, request: TreeRequest): Promise<TreePlan> {
  const { id: workspaceId } = await findWorkspace(deps.db, caller, request.workspace);
  if (!request.dryRun) await requireNoPreview(deps.db, workspaceId, 'files');
  const draft = await draftTree(deps.db, workspaceId, request);
  const early = await answerWithoutWrite(deps.db, workspaceId, request, draft);
  const apply = async (sql: Sql, onStale: OnStale): Promise<DeployResultBody> => {
    const librarySeq = await lockLibrary(sql, caller.tenant, 'share');
    await findWorkspace(sql, caller, request.workspace, 'update');
    const live = await readLiveTree(sql, workspaceId);
    const isOld = isStale(draft, live) || draft.prepared.librarySeq !== librarySeq;
    if (isOld && onStale === 'throw') throw new StalePlan();
    const current = isOld ? await draftTree(sql, workspaceId, request) : draft;
    return (
      (await answerWithoutWrite(sql, workspaceId, request, current)) ??
      makeLive(deps, sql, { caller, workspaceId, request, current })
    );
  };
  return { workspaceId, early, apply };
}

async function draftTree(sql: Sql, workspaceId: string, request: TreeRequest): Promise<Draft> {
  const live = await readLiveTree(sql, workspaceId);
  const proposal = await request.propose(sql, workspaceId, live);
  const marked = markPrograms(proposal.prepared.files, { ...proposal, live });
  const diff = diffMarkedTrees(visibleTree(live), treeAfter(live, marked, proposal.mentions));
  return { ...proposal, live, marked, diff };
}

function isStale(draft: Draft, live: LiveTree): boolean {
  const moved = (path: string): boolean => live.memory.get(path)?.sha !== draft.live.memory.get(path)?.sha;
  return live.seq !== draft.live.seq || [...draft.mentions].some(moved);
}

/** The answer or the refusal of a request that writes nothing; null when the tree must go live. */
async function answerWithoutWrite(
  sql: Sql,
  workspaceId: string,
  request: TreeRequest,
  draft: Draft,
): Promise<DeployResultBody | null> {
  const { live, prepared, kept } = draft;
  const given = kept?.size ? new Map([...prepared.files].filter(([path]) => !kept.has(path))) : prepared.files;
  const repeat = await findRepeat(sql, workspaceId, { id: request.id, files: given });
  if (repeat) return { ...answer(draft, repeat), removed: [], added: [], changed: [], issues: repeat.warnings };
  if (!prepared.workspace) throw refusedTree(request.what ?? 'the tree', prepared.issues, draft.diff);
  if (request.base !== null && request.base !== live.revision && request.base !== live.gitCommit) {
    throw new Refusal('conflict', 'another revision is live than the one named in base; read it, then deploy over it', {
      code: 'deploy/stale-base',
      revision: live.revision,
    });
  }
  if (request.dryRun) return { ...answer(draft, null), revision: live.revision };
  if (request.id === null && !moves(draft) && isLiveAlready(draft, request)) return answer(draft, live);
  if (!request.overLiveRuns) await refuseLiveRuns(sql, workspaceId);
  return null;
}

function answer(
  { diff, prepared }: Draft,
  at: { readonly revision: string | null; readonly gitCommit: string | null } | null,
): DeployResultBody {
  const revision = at?.revision ?? null;
  return {
    ok: true,
    applied: false,
    ...diff,
    issues: prepared.issues,
    commit: revision,
    revision,
    gitCommit: at?.gitCommit ?? null,
  };
}

/** True when another commit would go live, even with the same files. */
function moves({ commit, live }: Draft): boolean {
  return commit !== undefined && commit.id !== live.gitCommit;
}

/** True when nothing would change: the same files, and no memory of an agent to replace or to take over. */
function isLiveAlready({ live, mentions, marked }: Draft, { via }: TreeRequest): boolean {
  const takesOver = (path: string): boolean => via !== 'edit' && live.source.get(path)?.fromAgent === true;
  const replaces = [...mentions].some((path) => live.memory.has(path) || takesOver(path));
  return live.seq > 0 && !replaces && isEmptyDiff(diffMarkedTrees(live.source, marked));
}

async function refuseLiveRuns(sql: Sql, workspaceId: string): Promise<void> {
  const { count, runs } = await liveRuns(sql, workspaceId);
  if (count === 0) return;
  const what = count === 1 ? 'a run is live' : `${count} runs are live`;
  throw new Refusal('conflict', `${what}; wait for the end, stop, or deploy with force: true`, {
    code: 'deploy/live-runs',
    live: count,
    runs,
  });
}

async function makeLive(
  deps: Deps,
  sql: Sql,
  {
    caller,
    workspaceId,
    request,
    current,
  }: { caller: Caller; workspaceId: string; request: TreeRequest; current: Draft },
): Promise<DeployResultBody> {
  const { live, prepared, mentions } = current;
  const written = await writeRevision(deps, sql, {
    workspaceId,
    live,
    prepared: prepared as PreparedTree & { workspace: Workspace },
    mentions,
    id: request.id,
    preferredId: request.preferredId,
    givenId: request.givenId,
    by: caller.actor,
    via: request.via,
    message: request.message(current.diff),
    commit: current.commit,
    executable: current.executable,
  });
  await audit(sql, caller, request.via === 'edit' ? 'source.edit' : 'workspace.deploy', request.workspace, {
    revision: written.id,
    via: request.via,
  });
  if (request.via !== 'edit') {
    const at = { workspaceId, tenantId: caller.tenant, revision: written.id, by: caller.actor };
    await deps.startPushEvals(sql, at, prepared.workspace?.evals ?? []);
  }
  const result = { ...answer(current, { revision: written.id, gitCommit: written.gitCommit }), ...written.diff };
  const { added, changed, removed } = written.diff;
  await raiseEvent(sql, {
    workspaceId,
    kind: 'deploy.applied',
    body: { revision: written.id, via: request.via, by: caller.actor.label, added, changed, removed },
    runId: null,
  });
  const applied: DeployResultBody = { ...result, applied: true };
  await request.inTransaction?.(sql, applied);
  await request.recordAnswer?.(sql, applied);
  return applied;
}
