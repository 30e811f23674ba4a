import type { Waiting } from '../contract/runs.js';
import type { HeldUp } from '../engine/index.js';
import type { Plan } from '../format/index.js';
import { leavesOf } from '../format/model.js';
import type { Sql } from '../platform/db/contract.js';

/** Why running steps of a run are delayed: a transient failure of a provider, or a runtime that is being prepared. */
export async function readHeld(sql: Sql, runId: string): Promise<HeldUp[]> {
  const rows = await sql.query<{ held: HeldUp }>({
    name: 'held-steps',
    text: `SELECT loops->'held' AS held FROM lane
      WHERE run_id = $1 AND state NOT IN ('done', 'failed') AND jsonb_typeof(loops->'held') = 'object' ORDER BY lane`,
    values: [runId],
  });
  return rows.map(({ held }) => held);
}

export function heldWaiting(plan: Plan, { kind, step: id, item, since, until, reason }: HeldUp): Waiting {
  const step = leavesOf(plan).find((one) => one.id === id);
  return {
    step: step?.n ?? 0,
    id,
    title: step?.title ?? id,
    ...(item === 0 ? {} : { item }),
    kind,
    since: new Date(since).toISOString(),
    due: until == null ? null : new Date(until).toISOString(),
    reason,
  };
}
