import { createHash } from 'node:crypto';
import type { Sql } from '../db/contract.js';
import { canonicalJson } from '../shared/json.js';
import { storableJsonText } from '../shared/storable-json.js';
import type { Plan } from '../workspace/model.js';

/** A plan's id is the digest of what it says. */
export function digestPlan(plan: Plan): { id: string; body: string } {
  const body = storableJsonText(canonicalJson(plan));
  return { id: createHash('sha256').update(body).digest('hex'), body };
}

/** Keeps a plan that no revision has, once by its content; answers its id. */
export async function storePlan(sql: Sql, workspaceId: string, plan: Plan): Promise<string> {
  const { id, body } = digestPlan(plan);
  await sql.query({
    name: 'insert-plan',
    text: 'INSERT INTO plan (workspace_id, id, version, body) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING',
    values: [workspaceId, id, body],
  });
  return id;
}
