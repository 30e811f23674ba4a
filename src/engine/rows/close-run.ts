import type { Db } from '../../platform/db/contract.js';
import { closeRows } from './close-rows.js';
import { endRuns } from './end-runs.js';

/**
 * Ends a run that was cut short (lost, poisoned, or cancelled from outside) and the runs under it. A run that has ended
 * is left unchanged. Its lanes can no longer write. Returns true if this call ended it.
 */
export async function closeRun(db: Db, runId: string, why: string): Promise<boolean> {
  return db.transaction(async (sql) => {
    await sql.query(
      `UPDATE lane SET state = 'failed', error = coalesce(error, $2), fence = fence + 1
        WHERE run_id = $1 AND state NOT IN ('done', 'failed')`,
      [runId, why],
    );
    await sql.query('SELECT 1 FROM run WHERE id = $1 FOR UPDATE', [runId]);
    const ended = await endRuns(sql, [runId], { error: why, stopped: false });
    await closeRows(sql, [runId], why);
    return ended.includes(runId);
  });
}
