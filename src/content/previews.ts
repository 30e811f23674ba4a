import type { Deps } from '../deps.js';
import type { Issue, SourceFile, Workspace } from '../format/index.js';
import { removeRepository } from '../git/index.js';
import { audit, findWorkspace, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { alignMain } from './workspaces/align-refs.js';
import { type Erased, eraseWorkspaces } from './workspaces/erase-workspaces.js';
import { inTurn } from './workspaces/in-turn.js';
import { lockLibrary } from './workspaces/library-tree.js';
import { readLiveTree } from './workspaces/live-tree.js';
import { diffMarkedTrees, isEmptyDiff } from './workspaces/manifest.js';
import { type OnStale, StalePlan } from './workspaces/plans.js';
import { type PreparedTree, prepareTree, readInReach } from './workspaces/prepare-tree.js';
import { freePreviewName } from './workspaces/preview-name.js';
import { refusedTree } from './workspaces/refused-tree.js';
import { markPrograms } from './workspaces/store-revision.js';
import { writeRevision } from './workspaces/write-revision.js';

/** The maximum number of previews of one workspace. */
export const MAX_PREVIEWS = 50;

export interface BranchPush {
  /** The name of the workspace whose branch it is. */
  readonly workspace: string;
  /** Without `refs/heads/`. */
  readonly branch: string;
  /** The whole tree of the branch's new commit. */
  readonly files: readonly SourceFile[];
  /** The executable paths. */
  readonly executable: ReadonlySet<string>;
  /** The id of that commit, and of the preview's revision. */
  readonly commit: string;
  readonly message: string;
  /** Moves the branch's ref in the transaction of the preview; throws a refusal. */
  readonly moveRef: (sql: Sql) => Promise<void>;
}

export interface PutPreview {
  /** The name of the preview's workspace. */
  readonly name: string;
  readonly created: boolean;
  /** False when it had the same files already. */
  readonly applied: boolean;
  readonly issues: readonly Issue[];
  /** The eval runs that the push started. */
  readonly evals: readonly string[];
}

/** A preview whose tree was checked before its transaction. */
interface PreviewPlan {
  /** The key for `inTurn`. */
  readonly turn: string;
  /** Writes the preview in the caller's transaction. The caller must be in its turn. Safe to retry. */
  readonly apply: (sql: Sql, onStale: OnStale) => Promise<WrittenPreview>;
  /** After the commit. */
  readonly done: (written: WrittenPreview) => Promise<PutPreview>;
  /** After a failed transaction: removes the git repository that was created before it. */
  readonly undo: () => Promise<void>;
}

interface WrittenPreview extends PutPreview {
  readonly id: string;
}

/**
 * Creates the preview of a branch, or updates it to the branch's tree, in one transaction with the branch's ref. Its
 * live runs keep the revision that they started with. Refuses `refused` with every issue of the tree, and `conflict`
 * when there are too many previews; then the ref does not move.
 */
export async function putPreview(deps: Deps, caller: Caller, push: BranchPush): Promise<PutPreview> {
  const plan = await planPreview(deps, caller, push);
  const written = await inTurn(plan.turn, () => deps.db.transaction((sql) => plan.apply(sql, 'check-again'))).catch(
    async (error: unknown) => {
      await plan.undo();
      throw error;
    },
  );
  return plan.done(written);
}

/** Reads and checks the branch's tree, for a transaction of the caller. Refuses as `putPreview` does. */
export async function planPreview(deps: Deps, caller: Caller, push: BranchPush): Promise<PreviewPlan> {
  const source = await findWorkspace(deps.db, caller, push.workspace);
  const draft = await prepareValidTree(deps, deps.db, source, push);
  /** The id of the preview if it must be created. */
  const fresh = newId();
  return {
    turn: previewTurn(source.id),
    apply: async (sql, onStale) => {
      const isOld = (await lockLibrary(sql, caller.tenant, 'share')) !== draft.librarySeq;
      if (isOld && onStale === 'throw') throw new StalePlan();
      // A share lock: runs of the workspace can start, but it cannot be deleted or renamed.
      const { id } = await findWorkspace(sql, caller, push.workspace, 'share');
      if (id !== source.id)
        throw new Refusal('conflict', `${push.workspace} was deleted and created again: push again`);
      await lockPreviews(sql, source.id);
      const prepared = isOld ? await prepareValidTree(deps, sql, source, push) : draft;
      const at =
        (await findPreview(sql, source.id, push.branch)) ?? (await insertPreview(sql, source, { fresh, push }));
      const written = await writePreview(deps, sql, { caller, push, prepared, id: at.id });
      const { name, created } = at;
      await push.moveRef(sql);
      await audit(sql, caller, created ? 'preview.create' : 'preview.push', name, {
        ...{ of: source.name, branch: push.branch, commit: push.commit },
      });
      return { id: at.id, name, created, issues: prepared.issues, ...written };
    },
    done: async ({ id, ...answer }) => {
      failpoint('pointer-swapped');
      await alignMain(deps, id).catch((error: unknown) =>
        deps.log.warn({ workspaceId: id, err: error }, 'failed to move the ref of a preview, will retry'),
      );
      return answer;
    },
    undo: () => removeRepository(deps.config.dataDir, fresh),
  };
}

/** The turn of writers of a workspace's previews. To avoid a deadlock, take the workspace's own turn before it. */
export function previewTurn(source: string): string {
  return `previews/${source}`;
}

type ValidTree = PreparedTree & { readonly workspace: Workspace };

/** Checks the tree with the secrets of the source workspace and the produced files of the preview, if it exists. */
async function prepareValidTree(deps: Deps, sql: Sql, source: WorkspaceRow, push: BranchPush): Promise<ValidTree> {
  const preview = await findPreview(sql, source.id, push.branch);
  const reach = await readInReach(sql, source.tenantId, preview?.id ?? source.id);
  const prepared = await prepareTree(deps, push.files, preview ? reach : { ...reach, livePaths: [] });
  if (prepared.workspace) return prepared as ValidTree;
  throw refusedTree(`the branch ${push.branch}`, prepared.issues);
}

async function insertPreview(
  sql: Sql,
  source: WorkspaceRow,
  { fresh: id, push: { branch } }: { readonly fresh: string; readonly push: BranchPush },
): Promise<{ readonly id: string; readonly name: string; readonly created: true }> {
  const { id: of, tenantId: tenant, name: workspace } = source;
  const [row] = await sql.query<{ count: bigint }>('SELECT count(*) AS count FROM workspace WHERE preview_of = $1', [
    of,
  ]);
  if (Number(row?.count ?? 0n) >= MAX_PREVIEWS) {
    throw new Refusal(
      'conflict',
      `${workspace} has ${MAX_PREVIEWS} previews, which is the limit: delete branches that are merged or abandoned`,
      { code: 'preview/too-many' },
    );
  }
  for (;;) {
    const name = await freePreviewName(sql, { tenant, workspace, branch, id });
    const made = await sql.query(
      `INSERT INTO workspace (id, tenant_id, name, preview_of, preview_branch) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (tenant_id, name) DO NOTHING RETURNING 1`,
      [id, tenant, name, of, branch],
    );
    // Another workspace of the account may have taken the name since.
    if (made.length > 0) return { id, name, created: true };
  }
}

async function writePreview(
  deps: Deps,
  sql: Sql,
  { caller, push, prepared, id }: { caller: Caller; push: BranchPush; prepared: ValidTree; id: string },
): Promise<Pick<PutPreview, 'applied' | 'evals'>> {
  await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR UPDATE', [id]);
  const live = await readLiveTree(sql, id);
  const { executable } = push;
  const diff = diffMarkedTrees(live.source, markPrograms(prepared.files, { live, executable }));
  if (live.seq > 0 && isEmptyDiff(diff)) return { applied: false, evals: [] };
  const written = await writeRevision(deps, sql, {
    workspaceId: id,
    live,
    prepared,
    // Memory that agents wrote in the preview stays, except files that this push adds or changes.
    mentions: new Set([...diff.added, ...diff.changed]),
    id: await freeRevisionId(sql, id, push.commit),
    by: caller.actor,
    via: 'push',
    message: push.message,
    executable,
  });
  const at = { workspaceId: id, tenantId: caller.tenant, revision: written.id, by: caller.actor };
  return { applied: true, evals: await deps.startPushEvals(sql, at, prepared.workspace.evals) };
}

/** Null when a revision has this id already, because the branch returned to an earlier commit. */
async function freeRevisionId(sql: Sql, workspaceId: string, commit: string): Promise<string | null> {
  const taken = await sql.query('SELECT 1 FROM revision WHERE workspace_id = $1 AND id = $2', [workspaceId, commit]);
  return taken.length === 0 ? commit : null;
}

interface PreviewRow {
  readonly id: string;
  readonly name: string;
  readonly created: false;
}

/** The preview of a branch; null when the branch has none. */
async function findPreview(sql: Sql, source: string, branch: string): Promise<PreviewRow | null> {
  const [row] = await sql.query<{ id: string; name: string }>({
    name: 'find-preview',
    text: 'SELECT id, name FROM workspace WHERE preview_of = $1 AND preview_branch = $2',
    values: [source, branch],
  });
  return row ? { ...row, created: false } : null;
}

/** Serializes the writers of a workspace's previews until the transaction ends. */
export async function lockPreviews(sql: Sql, source: string): Promise<void> {
  await sql.query({
    name: 'lock-previews',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('previews/' || $1, 0))`,
    values: [source],
  });
}

/**
 * Deletes a branch's preview with all its data, in the caller's transaction, which deletes the branch's ref. Stops its
 * live runs, like a forced delete. Null when the branch has no preview. Call `clearErased` after the commit.
 */
export async function dropPreview(
  sql: Sql,
  caller: Caller,
  { workspace, branch }: { readonly workspace: string; readonly branch: string },
): Promise<(Erased & { readonly name: string }) | null> {
  const source = await findWorkspace(sql, caller, workspace, 'share');
  await lockPreviews(sql, source.id);
  const preview = await findPreview(sql, source.id, branch);
  if (!preview) return null;
  await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR UPDATE', [preview.id]);
  const erased = await eraseWorkspaces(sql, [preview.id]);
  await audit(sql, caller, 'preview.delete', preview.name, { of: source.name, branch });
  return { ...erased, name: preview.name };
}
