import type { Sql } from '../../platform/db/contract.js';
import type { FlowRef } from '../../workflows/contract.js';
import type { LeftOut } from './due-times.js';
import type { Outcome } from './schedule-row.js';

export interface Firing {
  readonly at: number;
  readonly outcome: Outcome;
  readonly reason?: string | undefined;
  readonly runId?: string | undefined;
}

/** Records the outcome of a due time. Its key is the flow and the time, so a second run for it cannot be recorded. */
export async function recordFiring(sql: Sql, ref: FlowRef, firing: Firing): Promise<void> {
  await sql.query({
    name: 'record-firing',
    text: `INSERT INTO firing (workspace_id, flow, scheduled_for, outcome, reason, run_id)
      VALUES ($1, $2, to_timestamp($3::float8 / 1000), $4, $5, $6)`,
    values: [ref.workspace, ref.flow, firing.at, firing.outcome, firing.reason ?? null, firing.runId ?? null],
  });
}

/** Records times that were left out together, as one row. */
export async function recordLeftOut(
  sql: Sql,
  ref: FlowRef,
  { first, last, times }: LeftOut,
  reason: string,
): Promise<void> {
  await sql.query({
    name: 'record-left-out',
    text: `INSERT INTO firing (workspace_id, flow, scheduled_for, until, times, outcome, reason)
      VALUES ($1, $2, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000), $5, 'skipped', $6)`,
    values: [ref.workspace, ref.flow, first, last, times, reason],
  });
}

const KEPT_DAYS = 90;

/** Deletes old firings. */
export async function forgetFirings(sql: Sql, { workspace, flow }: FlowRef): Promise<void> {
  await sql.query({
    name: 'forget-firings',
    text: `DELETE FROM firing WHERE workspace_id = $1 AND flow = $2 AND outcome <> 'waiting'
      AND scheduled_for < now() - $3 * interval '1 day'`,
    values: [workspace, flow, KEPT_DAYS],
  });
}
