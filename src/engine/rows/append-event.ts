import type { Sql } from '../../platform/db/contract.js';
import { storableJson } from '../../shared/storable-json.js';

/** Appends one event under the run's lock, setting its open gates and status with it. */
export async function appendEvent(
  sql: Sql,
  runId: string,
  event: { readonly type: string; readonly data: object; readonly gates?: number },
): Promise<void> {
  await sql.query({
    name: 'append-event',
    text: `WITH r AS (UPDATE run SET last_seq = last_seq + 1, gates_open = gates_open + $4,
        status = CASE WHEN finished_at IS NOT NULL OR status = 'queued' THEN status
          WHEN gates_open + $4 > 0 THEN 'awaiting-approval' ELSE 'running' END
        WHERE id = $1 RETURNING last_seq)
      INSERT INTO run_event (run_id, seq, type, data) SELECT $1, last_seq, $2, $3 FROM r`,
    values: [runId, event.type, storableJson(event.data), event.gates ?? 0],
  });
}
