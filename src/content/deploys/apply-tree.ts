import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import type { Issue, Workspace } from '../../format/model.js';
import { audit, findWorkspace, type RecordAnswer, requireNoPreview } from '../../people/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { alignMain } from '../workspaces/align-refs.js';
import { inTurn } from '../workspaces/in-turn.js';
import { lockLibrary } from '../workspaces/library-tree.js';
import { type LiveTree, liveRuns, readLiveTree, treeAfter, visibleTree } from '../workspaces/live-tree.js';
import { diffMarkedTrees, diffTrees, isEmptyDiff, parseManifest, type TreeDiff } from '../workspaces/manifest.js';
import { type OnStale, StalePlan } from '../workspaces/plans.js';
import type { PreparedTree } from '../workspaces/prepare-tree.js';
import { raiseEvent } from '../workspaces/raise-event.js';
import { refusedTree } from '../workspaces/refused-tree.js';
import { markPrograms, type ReadyCommit } from '../workspaces/store-revision.js';
import { type RevisionInput, writeRevision } from '../workspaces/write-revision.js';
import type { DeployOutcome } from './deploy-outcome.js';

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
  /** The revision or git commit that the caller expects to be live; null expects none in particular. */
  readonly base: string | null;
  /** The git commit that the tree builds on, null for none; any when left out. Checked before `propose`. */
  readonly onto?: string | null | undefined;
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

type Stale = Extract<DeployOutcome, { kind: 'stale' }>;

interface Draft extends Proposal {
  readonly kind: 'draft';
  readonly live: LiveTree;
  /** The files with their executable marks. */
  readonly marked: ReturnType<typeof markPrograms>;
  readonly diff: TreeDiff;
}

/** A tree that was read and checked before its transaction. */
interface TreePlan {
  readonly workspaceId: string;
  /** The outcome of a request that writes nothing; null when the tree must go live. */
  readonly early: DeployOutcome | null;
  /** Makes the tree live in the caller's transaction. The caller must be in the workspace's turn (`inTurn`). Safe to retry. */
  readonly apply: (sql: Sql, onStale: OnStale) => Promise<DeployOutcome>;
}

/**
 * Makes a tree live, all or nothing. It is checked before the workspace's row is locked, and again under the lock only
 * when another writer came first, in the workspace or in the account's library. It is blocked while runs are live, and
 * stale on another `base` or `onto`. Refuses `refused` with every issue, and `conflict` for a preview, or when the id
 * belongs to another tree.
 */
export async function applyTree(deps: Deps, caller: Caller, request: TreeRequest): Promise<DeployOutcome> {
  const { workspaceId, early, apply } = await planTree(deps, caller, request);
  if (early) return early;
  await request.prepare?.();
  const outcome = await inTurn(workspaceId, () => deps.db.transaction((sql) => apply(sql, 'check-again')));
  if (!('result' in outcome)) return outcome;
  failpoint('pointer-swapped');
  // The revision is live. A ref that cannot be moved now is moved at the next access to the repository.
  if (!request.leavesMain)
    await alignMain(deps, workspaceId).catch((error: unknown) =>
      deps.log.warn({ workspaceId, err: error }, 'failed to move the ref of a deploy, will retry'),
    );
  return outcome;
}

/** Reads and checks the tree, for a transaction of the caller. Refuses as `applyTree` does; so does the plan's `apply`. */
export async function planTree(deps: Deps, caller: Caller, request: TreeRequest): Promise<TreePlan> {
  const { id: workspaceId } = await findWorkspace(deps.db, caller, request.workspace);
  if (!request.dryRun) await requireNoPreview(deps.db, workspaceId, 'files');
  const draft = await draftTree(deps.db, workspaceId, request);
  const early = draft.kind === 'stale' ? draft : await answerWithoutWrite(deps.db, workspaceId, request, draft);
  const apply = async (sql: Sql, onStale: OnStale): Promise<DeployOutcome> => {
    const librarySeq = await lockLibrary(sql, caller.tenant, 'share');
    await findWorkspace(sql, caller, request.workspace, 'update');
    const live = await readLiveTree(sql, workspaceId);
    const isOld = draft.kind === 'stale' || isStale(draft, live) || draft.prepared.librarySeq !== librarySeq;
    if (isOld && onStale === 'throw') throw new StalePlan();
    const current = isOld ? await draftTree(sql, workspaceId, request) : draft;
    if (current.kind === 'stale') return current;
    const outcome = await answerWithoutWrite(sql, workspaceId, request, current);
    if (outcome) return outcome;
    return { kind: 'applied', result: await makeLive(deps, sql, { caller, workspaceId, request, current }) };
  };
  return { workspaceId, early, apply };
}

async function draftTree(sql: Sql, workspaceId: string, request: TreeRequest): Promise<Draft | Stale> {
  const live = await readLiveTree(sql, workspaceId);
  if (request.onto !== undefined && request.onto !== live.gitCommit) return { kind: 'stale', revision: live.revision };
  const proposal = await request.propose(sql, workspaceId, live);
  const marked = markPrograms(proposal.prepared.files, { ...proposal, live });
  const diff = diffMarkedTrees(visibleTree(live), treeAfter(live, marked, proposal.mentions));
  return { kind: 'draft', ...proposal, live, marked, diff };
}

function isStale(draft: Draft, live: LiveTree): boolean {
  const moved = (path: string): boolean => live.memory.get(path)?.sha !== draft.live.memory.get(path)?.sha;
  return live.seq !== draft.live.seq || [...draft.mentions].some(moved);
}

/** The outcome or the refusal of a request that writes nothing; null when the tree must go live. */
async function answerWithoutWrite(
  sql: Sql,
  workspaceId: string,
  request: TreeRequest,
  draft: Draft,
): Promise<DeployOutcome | null> {
  const { live, prepared, kept } = draft;
  const given = kept?.size ? new Map([...prepared.files].filter(([path]) => !kept.has(path))) : prepared.files;
  const repeat = await findRepeat(sql, workspaceId, { id: request.id, files: given });
  if (repeat)
    return unchanged({ ...answer(draft, repeat), removed: [], added: [], changed: [], issues: repeat.warnings });
  if (!prepared.workspace) throw refusedTree(request.what ?? 'the tree', prepared.issues, draft.diff);
  if (request.base !== null && request.base !== live.revision && request.base !== live.gitCommit)
    return { kind: 'stale', revision: live.revision };
  if (request.dryRun) return unchanged({ ...answer(draft, null), revision: live.revision });
  if (request.id === null && !moves(draft) && isLiveAlready(draft, request)) return unchanged(answer(draft, live));
  if (request.overLiveRuns) return null;
  const { count, runs } = await liveRuns(sql, workspaceId);
  return count === 0 ? null : { kind: 'blocked', live: count, runs };
}

function unchanged(result: DeployResultBody): DeployOutcome {
  return { kind: 'unchanged', result };
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

interface Repeat {
  readonly revision: string;
  readonly gitCommit: string;
  readonly warnings: readonly Issue[];
}

interface Row extends Pick<TableRow<'Revision'>, 'gitCommit' | 'manifest'> {
  readonly revision: string;
  readonly warnings: readonly Issue[];
}

/**
 * The revision with this id, if it has the same files: then the deploy is a repeat and changes nothing. Refuses
 * `conflict` when it has other files.
 */
async function findRepeat(
  sql: Sql,
  workspaceId: string,
  { id, files }: { readonly id: string | null; readonly files: ReadonlyMap<string, { readonly sha: string }> },
): Promise<Repeat | null> {
  if (id === null) return null;
  const [row] = await sql.query<Row>({
    name: 'find-repeat',
    text: `SELECT id AS revision, git_commit AS "gitCommit", manifest, index->'warnings' AS warnings FROM revision
      WHERE workspace_id = $1 AND (id = $2 OR git_commit = $2) ORDER BY seq LIMIT 1`,
    values: [workspaceId, id],
  });
  if (!row) return null;
  // Memory of agents in the revision was not part of the deploy.
  const own = new Map([...parseManifest(row.manifest)].filter(([, { fromAgent }]) => !fromAgent));
  if (isEmptyDiff(diffTrees(own, files))) return row;
  throw new Refusal('conflict', `${id} was deployed before with other files; name the commit that holds these`, {
    code: 'deploy/other-tree',
  });
}
