import { createHash } from 'node:crypto';
import type { Plan, Workspace } from '../../format/model.js';
import type { WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { canonicalJson } from '../../shared/json.js';
import { Lru } from '../../shared/lru.js';
import { storableJsonText } from '../../shared/storable-json.js';

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

/** Another writer came between a plan and its transaction: plan again. */
export class StalePlan extends Error {
  override readonly name = 'StalePlan';

  constructor() {
    super('another writer came before the transaction');
  }
}

/** A plan's id is the digest of its content. */
export function digestPlan(plan: Plan): { id: string; body: string } {
  const body = storableJsonText(canonicalJson(plan));
  return { id: createHash('sha256').update(body).digest('hex'), body };
}

/** Stores a plan outside of any revision, unless it exists, and returns its id. */
export async function storePlan(sql: Sql, workspaceId: string, plan: Plan): Promise<string> {
  const { id, body } = digestPlan(plan);
  await sql.query({
    name: 'insert-plan',
    text: 'INSERT INTO plan (workspace_id, id, version, body) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING',
    values: [workspaceId, id, body],
  });
  return id;
}

/** Stores the plans that do not exist yet, and returns each target's plan id. */
export async function storePlans(
  sql: Sql,
  workspaceId: string,
  plans: Workspace['plans'],
): Promise<Record<string, string>> {
  const compiled = Object.entries(plans).map(([target, plan]) => ({ target, ...digestPlan(plan) }));
  await sql.query({
    name: 'insert-plans',
    text: `INSERT INTO plan (workspace_id, id, version, body)
      SELECT DISTINCT ON (id) $1, id, 1, body FROM unnest($2::text[], $3::jsonb[]) AS new (id, body) ORDER BY id
      ON CONFLICT DO NOTHING`,
    values: [workspaceId, compiled.map(({ id }) => id), compiled.map(({ body }) => body)],
  });
  return Object.fromEntries(compiled.map(({ target, id }) => [target, id]));
}

/** What a plan does when another writer came before its transaction: check again under the lock, or throw `StalePlan`. */
export type OnStale = 'check-again' | 'throw';
