import type { Db } from '../../platform/db/contract.js';
import { endRuns } from '../rows/end-runs.js';

export const TOO_LONG = 'the step took longer than its timeout';

/** Ends a run whose step's time is over, and all runs under it. A run that has ended is left unchanged. */
export function endOverdue(db: Db, runId: string): Promise<string[]> {
  return db.transaction(async (sql) => {
    const [run] = await sql.query('SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [runId]);
    return run ? endRuns(sql, [runId], { error: TOO_LONG, stopped: false }) : [];
  });
}
