import type { StepPlan } from '../format/index.js';
import type { Sql } from '../platform/db/contract.js';
import type { Json } from '../shared/json.js';

/** A step's result: its text, and its value when the step has a schema. */
export interface Work {
  readonly result: string | null;
  readonly data: Json | null;
}

/** The newest work of these steps, by step id. */
export async function readWork(sql: Sql, runId: string, ids: readonly string[]): Promise<Map<string, Work>> {
  const rows = await sql.query<Work & { id: string }>(
    `SELECT DISTINCT ON (id) id, result, data FROM step
      WHERE run_id = $1 AND id = ANY($2) AND item = 0 ORDER BY id, round DESC`,
    [runId, ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** True when the work is a value; its text is then that value as JSON. */
export function isValue(step: StepPlan, { data }: Work): boolean {
  return step.output === 'json' || data !== null;
}
