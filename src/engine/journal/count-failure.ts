import type { Sql } from '../../platform/db/contract.js';
import type { Turn } from '../../workflows/contract.js';

/**
 * Counts a failure of the engine in a turn and returns the number so far. Temporal's attempt number is not used, since
 * it includes attempts that were cut when a worker ended. A stale attempt counts nothing and returns 0.
 */
export async function countFailure(sql: Sql, { runId, lane, turn }: Turn, attempt: number): Promise<number> {
  const [row] = await sql.query<{ failures: number }>({
    name: 'count-lane-failure',
    text: `UPDATE lane SET failures = CASE WHEN failed_turn = $3 THEN failures + 1 ELSE 1 END, failed_turn = $3
      WHERE run_id = $1 AND lane = $2 AND (turn, attempt) <= ($3, $4) RETURNING failures`,
    values: [runId, lane, turn, attempt],
  });
  return row?.failures ?? 0;
}
