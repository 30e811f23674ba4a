import type { Sql } from '../../platform/db/contract.js';
import { STOP_CHANNEL } from '../live.js';
import { enqueueOutbox } from '../outbox/outbox.js';
import { bookChildren } from './book-children.js';
import { bookLost, type LanesOf } from './book-lost.js';
import { closeRows } from './close-rows.js';
import { raiseEndEvents } from './raise-ends.js';

/**
 * Ends these runs and all runs under them, by compare-and-set: closes their rows, notifies their workers at the commit,
 * and cancels their workflows through the outbox. Runs that have ended are left unchanged, but not active runs under
 * them. `within` are lanes that end with them, locked by the caller: their cost is booked in the same pass. Call it
 * once a transaction, under the lock of the topmost run. Returns the runs that this call ended.
 */
export async function endRuns(
  sql: Sql,
  runIds: readonly string[],
  end: { readonly error: string; readonly stopped: boolean },
  within: LanesOf | null = null,
): Promise<string[]> {
  const ended: string[] = [];
  for (;;) {
    const rows = await sql.query<{ id: string }>(
      `WITH RECURSIVE tree AS (
        SELECT id FROM run WHERE id = ANY($1) UNION SELECT c.id FROM run c JOIN tree t ON c.parent_id = t.id),
      r AS (UPDATE run SET status = 'failed', stopped = $3, error = $2, gates_open = 0, reserved_nano = 0,
          finished_at = now(), last_seq = last_seq + 1,
          summary = (SELECT left(split_part(ltrim(s.result, E' \\t\\r\\n'), E'\\n', 1), 300) FROM step s
            WHERE s.run_id = run.id AND s.result ~ '\\S' ORDER BY s.finished_at DESC NULLS LAST LIMIT 1)
          WHERE id IN (SELECT id FROM tree) AND finished_at IS NULL RETURNING id, last_seq)
      INSERT INTO run_event (run_id, seq, type, data)
      SELECT id, last_seq, $4, jsonb_build_object('error', $2::text) FROM r RETURNING run_id AS id`,
      [runIds, end.error, end.stopped, end.stopped ? 'run.stopped' : 'run.failed'],
    );
    // A run that was live when this statement began may have started a child before it ended: look again.
    if (rows.length === 0) break;
    ended.push(...rows.map(({ id }) => id));
  }
  if (!end.stopped) await raiseEndEvents(sql, ended);
  await bookLost(sql, ended, within);
  await bookChildren(sql, ended, within);
  await closeRows(sql, ended, end.error);
  for (const id of ended) {
    await sql.query('SELECT pg_notify($1, $2)', [STOP_CHANNEL, id]);
    await enqueueOutbox(sql, id, 'cancel');
  }
  return ended;
}
