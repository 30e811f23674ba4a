import { createHash } from 'node:crypto';
import type { Plan, Workspace } from '../../format/model.js';
import type { Sql } from '../../platform/db/contract.js';
import { canonicalJson } from '../../shared/json.js';
import { storableJsonText } from '../../shared/storable-json.js';

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
