import type { Sql } from '../../platform/db/contract.js';

/** Closes the steps, calls and parks that ended runs left open. */
export async function closeRows(sql: Sql, runIds: readonly string[], why: string): Promise<void> {
  await sql.query(
    `UPDATE step SET status = 'failed', error = coalesce(error, $2), finished_at = now()
      WHERE run_id = ANY($1) AND status IN ('running', 'waiting')`,
    [runIds, why],
  );
  await sql.query(
    `UPDATE call SET state = 'interrupted', finished_at = now() WHERE run_id = ANY($1) AND state = 'started'`,
    [runIds],
  );
  await sql.query(
    `UPDATE park SET decided_at = now(), decision = 'void' WHERE run_id = ANY($1) AND decided_at IS NULL`,
    [runIds],
  );
}
