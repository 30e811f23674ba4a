import type { Db, Sql } from '../../db/contract.js';

/**
 * Ends a run that was cut short: lost, poisoned, or cancelled from outside. A run that has ended stays as it is.
 * No lane of it takes another write. Answers whether this call ended it.
 */
export async function closeRun(db: Db, runId: string, why: string): Promise<boolean> {
  return db.transaction(async (sql) => {
    await sql.query(
      `UPDATE lane SET state = 'failed', error = coalesce(error, $2), fence = fence + 1
        WHERE run_id = $1 AND state NOT IN ('done', 'failed')`,
      [runId, why],
    );
    const rows = await sql.query<{ id: string }>(
      `WITH r AS (UPDATE run SET status = 'failed', error = $2, gates_open = 0, reserved_nano = 0, finished_at = now(),
          last_seq = last_seq + 1 WHERE id = $1 AND finished_at IS NULL RETURNING id, last_seq)
        INSERT INTO run_event (run_id, seq, type, data)
        SELECT id, last_seq, 'run.failed', jsonb_build_object('error', $2::text) FROM r RETURNING run_id AS id`,
      [runId, why],
    );
    await closeRows(sql, [runId], why);
    return rows.length > 0;
  });
}

/** Closes the steps and parks that ended runs left open. */
export async function closeRows(sql: Sql, runIds: readonly string[], why: string): Promise<void> {
  await sql.query(
    `UPDATE step SET status = 'failed', error = coalesce(error, $2), finished_at = now()
      WHERE run_id = ANY($1) AND status IN ('running', 'waiting')`,
    [runIds, why],
  );
  await sql.query(
    `UPDATE park SET decided_at = now(), decision = 'void' WHERE run_id = ANY($1) AND decided_at IS NULL`,
    [runIds],
  );
}
