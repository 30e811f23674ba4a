import type { Plan } from '../../format/model.js';
import type { WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Lru } from '../../shared/lru.js';

/** Plans are immutable, since their id is a digest of the content, so they are cached without expiry. */
const plans = new Lru<string, Plan>(256);

/** The plan a run is pinned to. Throws when it is missing, since plans are stored as long as their workspace. */
export async function loadPlan(deps: { readonly db: Sql }, workspaceId: string, planId: string): Promise<Plan> {
  const plan = await readPlan(deps.db, workspaceId, planId);
  if (!plan) throw new Error(`workspace ${workspaceId} has no plan ${planId}`);
  return plan;
}

export interface LivePlan {
  readonly planId: string;
  /** The live revision's id. */
  readonly revision: string;
  /** The revision of the account's library that the plan was made with; 0 is none. */
  readonly librarySeq: number;
  readonly plan: Plan;
}

/** The plan of `flows/<name>` or `agents/<name>` in the live revision; null when the revision has no such target. */
export async function livePlan(
  sql: Sql,
  workspace: Pick<WorkspaceRow, 'id' | 'liveSeq' | 'tenantId'>,
  target: string,
): Promise<LivePlan | null> {
  // One statement, so that the library and its plans are from one snapshot.
  const [row] = await sql.query<{ revision: string; librarySeq: number; planId: string | null }>({
    name: 'live-plan',
    text: `SELECT r.id AS revision, l.seq AS "librarySeq", plans_at(r.workspace_id, r.seq, l.seq, r.plans)->>$3::text AS "planId"
      FROM revision r, library_of($4) AS l (seq) WHERE r.workspace_id = $1 AND r.seq = $2`,
    values: [workspace.id, workspace.liveSeq, target, workspace.tenantId],
  });
  if (!row?.planId) return null;
  const { planId, revision, librarySeq } = row;
  const plan = await readPlan(sql, workspace.id, planId);
  return plan && { planId, revision, librarySeq, plan };
}

/** The plan of a target in the revision and the library that a run is pinned to; null when it has no such target. */
export async function pinnedPlan(
  sql: Sql,
  at: { readonly workspaceId: string; readonly revision: string; readonly librarySeq: number },
  target: string,
): Promise<{ readonly planId: string; readonly plan: Plan } | null> {
  const [row] = await sql.query<{ planId: string | null }>({
    name: 'pinned-plan',
    text: `SELECT plans_at(workspace_id, seq, $4, plans)->>$3::text AS "planId" FROM revision
      WHERE workspace_id = $1 AND id = $2`,
    values: [at.workspaceId, at.revision, target, at.librarySeq],
  });
  const plan = row?.planId ? await readPlan(sql, at.workspaceId, row.planId) : null;
  return row?.planId && plan ? { planId: row.planId, plan } : null;
}

async function readPlan(sql: Sql, workspaceId: string, planId: string): Promise<Plan | null> {
  const key = `${workspaceId}/${planId}`;
  const known = plans.get(key);
  if (known) return known;
  const [row] = await sql.query<{ version: number; body: Plan }>({
    name: 'read-plan',
    text: 'SELECT version, body FROM plan WHERE workspace_id = $1 AND id = $2',
    values: [workspaceId, planId],
  });
  if (!row) return null;
  if (row.version !== 1) throw new Error(`plan ${planId} has version ${row.version}, which this build cannot read`);
  return plans.set(key, row.body);
}
