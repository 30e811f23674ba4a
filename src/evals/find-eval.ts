import type { EvalPlan } from '../format/index.js';
import { findWorkspace, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

export interface LiveEvals {
  readonly workspace: WorkspaceRow;
  /** The live revision's id; null before the first. */
  readonly revision: string | null;
  readonly evals: readonly EvalPlan[];
  /** The revision of the account's library that the plans were compiled with; 0 for none. */
  readonly librarySeq: number;
  /** Target to plan id. */
  readonly plans: Readonly<Record<string, string>>;
}

interface Row extends Pick<LiveEvals, 'plans' | 'librarySeq'> {
  readonly id: string;
  readonly evals: readonly EvalPlan[] | null;
}

/** The evals of the live revision. */
export async function readLiveEvals(
  sql: Sql,
  caller: Pick<Caller, 'tenant' | 'workspaces'>,
  name: string,
  lock: 'none' | 'share' = 'none',
): Promise<LiveEvals> {
  const workspace = await findWorkspace(sql, caller, name, lock);
  // One statement, so that the library and the plans compiled with it are consistent.
  const [row] = await sql.query<Row>({
    name: 'live-evals',
    text: `SELECT r.id, r.index->'evals' AS evals, l.seq AS "librarySeq", plans_at(r.workspace_id, r.seq, l.seq, r.plans) AS plans
      FROM revision r, library_of($3) AS l (seq) WHERE r.workspace_id = $1 AND r.seq = $2`,
    values: [workspace.id, workspace.liveSeq, workspace.tenantId],
  });
  const { id = null, evals = null, plans = {}, librarySeq = 0 } = row ?? {};
  return { workspace, revision: id, evals: evals ?? [], plans, librarySeq };
}

/** Refuses an eval that is neither in the live revision nor has a run. */
export async function findEval(
  sql: Sql,
  caller: Caller,
  { workspace: name, eval: evalName }: { readonly workspace: string; readonly eval: string },
): Promise<WorkspaceRow> {
  const { workspace, evals } = await readLiveEvals(sql, caller, name);
  if (evals.some((one) => one.name === evalName)) return workspace;
  // Postgres rejects some names as parameters, such as those with NUL.
  const [kept] = /^[a-z0-9-]{1,64}$/.test(evalName)
    ? await sql.query('SELECT 1 FROM eval_run WHERE workspace_id = $1 AND eval = $2 LIMIT 1', [workspace.id, evalName])
    : [];
  if (!kept) throw notFound('eval');
  return workspace;
}
