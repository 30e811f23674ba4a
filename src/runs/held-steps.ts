import type { Waiting } from '../contract/runs.js';
import { type HeldUp, lanePlanOf } from '../engine/index.js';
import type { Plan } from '../format/index.js';
import { branchesOf, leavesOf } from '../format/model.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { itemOf } from './run-rows.js';

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
    ...itemOf({ item }),
    kind,
    since: new Date(since).toISOString(),
    due: until == null ? null : new Date(until).toISOString(),
    reason,
  };
}

export interface SlotWaitRow extends Pick<TableRow<'Lane'>, 'lane' | 'pos'> {
  readonly since: Date;
  /** The flow of the slot key that is full. */
  readonly flow: string;
  readonly limit: number;
  readonly held: bigint;
  readonly ahead: bigint;
}

/** The lanes of a run that wait for a slot, and why. */
export function readSlotWaits(sql: Sql, runId: string): Promise<SlotWaitRow[]> {
  return sql.query<SlotWaitRow>({
    name: 'slot-waits',
    text: `SELECT q.lane, l.pos, q.since, full_key.flow, full_key."limit", full_key.held,
        (SELECT count(*) FROM slot_lane b JOIN run o ON o.id = b.run_id AND o.finished_at IS NULL
          WHERE b.workspace_id = q.workspace_id AND b.state = 'waiting' AND b.place < q.place
          AND EXISTS (SELECT 1 FROM slot s WHERE s.run_id = ANY(b.slots) AND s.key = full_key.key)) AS ahead
      FROM slot_lane q JOIN lane l ON l.run_id = q.run_id AND l.lane = q.lane
      CROSS JOIN LATERAL (
        SELECT s.key, r.flow, (SELECT most FROM slot m WHERE m.workspace_id = s.workspace_id AND m.key = s.key
            ORDER BY m.run_id DESC LIMIT 1) AS "limit",
          (SELECT count(*) FROM slot h WHERE h.workspace_id = s.workspace_id AND h.key = s.key AND h.held) AS held
        FROM slot s JOIN run r ON r.id = s.run_id WHERE s.run_id = ANY(q.slots) AND NOT s.held
        ORDER BY 4 DESC LIMIT 1) full_key
      WHERE q.run_id = $1 AND q.state = 'waiting' ORDER BY q.place`,
    values: [runId],
  });
}

export function slotWaiting(plan: Plan, from: number, row: SlotWaitRow): Waiting {
  const node = lanePlanOf(plan, row.lane).nodes[row.pos];
  const first = node && branchesOf(node)[0];
  // A run that has not started waits before its first step.
  const step = row.lane === 'main' && row.pos === 0 ? leavesOf(plan)[from - 1] : first;
  const line = row.ahead === 0n ? 'it is next' : row.ahead === 1n ? '1 is before it' : `${row.ahead} are before it`;
  return {
    step: step?.n ?? 0,
    id: step?.id ?? '',
    title: step?.title ?? '',
    kind: 'slot',
    since: row.since.toISOString(),
    due: null,
    reason: `${row.held} of ${row.limit} runs of ${row.flow} are at work (concurrency), and ${line}`,
  };
}
