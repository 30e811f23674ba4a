import type { Sql } from '../../platform/db/contract.js';
import { storableJson } from '../../shared/storable-json.js';

/** Records in a run's events that it waits for a slot, or got one. An ended run gets no more events. */
export async function recordSlotEvent(
  sql: Sql,
  runId: string,
  type: 'slot.waiting' | 'slot.taken',
  data: { readonly lane: string },
): Promise<void> {
  await sql.query({
    name: 'slot-event',
    text: `WITH r AS (UPDATE run SET last_seq = last_seq + 1 WHERE id = $1 AND finished_at IS NULL RETURNING last_seq)
      INSERT INTO run_event (run_id, seq, type, data) SELECT $1, last_seq, $2, $3 FROM r`,
    values: [runId, type, storableJson(data)],
  });
}
