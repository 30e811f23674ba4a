import type { Sql } from '../../platform/db/contract.js';
import { enqueueOutbox } from '../outbox/outbox.js';
import { recordSlotEvent } from './record-slot-event.js';
import { slotPark } from './slot-rows.js';

export interface GrantedLane {
  readonly runId: string;
  readonly lane: string;
  /** The run had no workflow yet: its start is in the outbox now. */
  readonly starts: boolean;
}

/** The newest run of a key determines its limit. */
const NEXT = `WITH full_keys AS MATERIALIZED (
    SELECT key FROM slot WHERE workspace_id = $1 GROUP BY key
      HAVING count(*) FILTER (WHERE held) >= (array_agg(most ORDER BY run_id DESC))[1]),
  next AS MATERIALIZED (
    SELECT q.run_id, q.lane, q.slots, q.starts FROM slot_lane q
      JOIN run r ON r.id = q.run_id AND r.finished_at IS NULL
      JOIN lane l ON l.run_id = q.run_id AND l.lane = q.lane AND l.state NOT IN ('done', 'failed')
      WHERE q.workspace_id = $1 AND q.state = 'waiting' AND NOT EXISTS (
        SELECT 1 FROM slot s JOIN full_keys f ON f.key = s.key
          WHERE s.workspace_id = $1 AND s.run_id = ANY(q.slots) AND NOT s.held)
      ORDER BY q.place LIMIT 1),
  taken AS (UPDATE slot SET held = true, since = now() FROM next WHERE slot.run_id = ANY(next.slots) AND NOT held),
  begun AS (UPDATE slot_lane q SET state = 'busy', starts = false FROM next WHERE q.run_id = next.run_id AND q.lane = next.lane)
  SELECT run_id AS "runId", lane, starts FROM next`;

/**
 * Grants free slots to those in line, oldest first. A lane that needs several slots gets all of them or none. Starts
 * and wakes are written to the outbox of this transaction. Call it under `lockSlots`. `self`, an active lane, is not
 * woken.
 */
export async function grantSlots(
  sql: Sql,
  workspaceId: string,
  self: { readonly runId: string; readonly lane: string; readonly fresh: boolean } | null = null,
): Promise<GrantedLane[]> {
  const granted: GrantedLane[] = [];
  for (;;) {
    const [next] = await sql.query<GrantedLane>({ name: 'slot-next', text: NEXT, values: [workspaceId] });
    if (!next) break;
    granted.push(next);
  }
  // In the order of their ids, as everywhere when several runs are locked.
  for (const lane of [...granted].sort((a, b) => (a.runId < b.runId ? -1 : 1))) {
    const isSelf = self?.runId === lane.runId && self.lane === lane.lane;
    if (lane.starts) await enqueueOutbox(sql, lane.runId, 'start');
    else if (!isSelf) await enqueueOutbox(sql, lane.runId, 'event', slotPark(lane.runId, lane.lane));
    if (!isSelf || !self.fresh) await recordSlotEvent(sql, lane.runId, 'slot.taken', { lane: lane.lane });
  }
  return granted;
}
