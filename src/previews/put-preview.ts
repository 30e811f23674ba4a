import { audit } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { beginPushEvals } from '../evals/contract.js';
import { removeRepository } from '../git/index.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { Issue, SourceFile, Workspace } from '../workspace/index.js';
import {
  alignMain,
  diffMarkedTrees,
  findWorkspace,
  freePreviewName,
  inTurn,
  isEmptyDiff,
  lockLibrary,
  markPrograms,
  type OnStale,
  type PreparedTree,
  prepareTree,
  readInReach,
  readLiveTree,
  refusedTree,
  StalePlan,
  type WorkspaceRow,
  writeRevision,
} from '../workspaces/index.js';
import { findPreview, lockPreviews } from './find-preview.js';

/** As many branches of one workspace are previewed at once. */
export const MAX_PREVIEWS = 50;

export interface BranchPush {
  /** The name of the workspace whose branch it is. */
  readonly workspace: string;
  /** Without `refs/heads/`. */
  readonly branch: string;
  /** The whole tree of the branch's new commit. */
  readonly files: readonly SourceFile[];
  /** The paths that are marked as programs. */
  readonly executable: ReadonlySet<string>;
  /** That commit: by it the preview's revision is known. */
  readonly commit: string;
  readonly message: string;
  /** Moves the branch's ref in the preview's own transaction; throws what refuses it. */
  readonly moveRef: (sql: Sql) => Promise<void>;
}

export interface PutPreview {
  /** The preview's name, a workspace like others. */
  readonly name: string;
  readonly created: boolean;
  /** False when it had these very files. */
  readonly applied: boolean;
  readonly issues: readonly Issue[];
  /** The eval runs that began there. */
  readonly evals: readonly string[];
}

/** A preview whose tree was read and checked before its transaction. */
export interface PreviewPlan {
  /** Its turn, by `inTurn`. */
  readonly turn: string;
  /** Writes the preview in the caller's transaction, which takes its turn before it begins. Safe to run again. */
  readonly apply: (sql: Sql, onStale: OnStale) => Promise<WrittenPreview>;
  /** After the commit. */
  readonly done: (written: WrittenPreview) => Promise<PutPreview>;
  /** After a transaction that failed: what the preview was to hold in git was written before. */
  readonly undo: () => Promise<void>;
}

interface WrittenPreview extends PutPreview {
  readonly id: string;
}

/**
 * Makes the preview of a branch, or brings it to the branch's tree, in one transaction with the branch's ref. Live runs
 * there go on by the revision that they began with. Refuses `refused` with every issue of the tree, and `conflict` for
 * one preview too many; then the ref stays where it was.
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
  const draft = await prepareSound(deps, deps.db, source, push);
  /** Of the preview, if there is none yet. */
  const fresh = newId();
  return {
    turn: previewTurn(source.id),
    apply: async (sql, onStale) => {
      const isOld = (await lockLibrary(sql, caller.tenant, 'share')) !== draft.librarySeq;
      if (isOld && onStale === 'throw') throw new StalePlan();
      // Shared: its runs begin meanwhile, and it can be neither deleted nor renamed.
      const { id } = await findWorkspace(sql, caller, push.workspace, 'share');
      if (id !== source.id) throw new Refusal('conflict', `${push.workspace} was made anew meanwhile: push again`);
      await lockPreviews(sql, source.id);
      const prepared = isOld ? await prepareSound(deps, sql, source, push) : draft;
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
        deps.log.warn({ workspaceId: id, err: error }, 'the ref of a preview could not be moved yet'),
      );
      return answer;
    },
    undo: () => removeRepository(deps.config.dataDir, fresh),
  };
}

/** The turn of those who write previews of a workspace. Who takes the workspace's own turn as well takes that one first. */
export function previewTurn(source: string): string {
  return `previews/${source}`;
}

type Sound = PreparedTree & { readonly workspace: Workspace };

/** Secrets are those of the source, and produced files those of the preview, when there is one. */
async function prepareSound(deps: Deps, sql: Sql, source: WorkspaceRow, push: BranchPush): Promise<Sound> {
  const preview = await findPreview(sql, source.id, push.branch);
  const reach = await readInReach(sql, source.tenantId, preview?.id ?? source.id);
  const prepared = await prepareTree(deps, push.files, preview ? reach : { ...reach, livePaths: [] });
  if (prepared.workspace) return prepared as Sound;
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
      `${workspace} has ${MAX_PREVIEWS} previews, the most there may be: delete branches that are merged or given up`,
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
  { caller, push, prepared, id }: { caller: Caller; push: BranchPush; prepared: Sound; id: string },
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
    // What an agent wrote in the preview stays, but for the files that this push brings or changes.
    mentions: new Set([...diff.added, ...diff.changed]),
    id: await freeRevisionId(sql, id, push.commit),
    by: caller.actor,
    via: 'push',
    message: push.message,
    executable,
  });
  const at = { workspaceId: id, tenantId: caller.tenant, revision: written.id, by: caller.actor };
  return { applied: true, evals: await beginPushEvals(sql, at, prepared.workspace.evals) };
}

/** A branch may come back to a commit: then the revision is known by its own commit. */
async function freeRevisionId(sql: Sql, workspaceId: string, commit: string): Promise<string | null> {
  const taken = await sql.query('SELECT 1 FROM revision WHERE workspace_id = $1 AND id = $2', [workspaceId, commit]);
  return taken.length === 0 ? commit : null;
}
