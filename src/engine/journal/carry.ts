import type { Sql } from '../../platform/db/contract.js';
import { WORKER_LIVES } from '../../platform/db/index.js';
import type { Turn } from '../../workflows/contract.js';

/**
 * Assigns the run's first advance to this turn. Its fence stays, so that its active work can write. False when another
 * attempt has claimed the lane.
 */
export async function takeOverLane(
  sql: Sql,
  { runId, turn }: Turn,
  { attempt, fence }: { attempt: number; fence: bigint },
): Promise<boolean> {
  const rows = await sql.query({
    name: 'take-over-lane',
    text: `UPDATE lane SET turn = $2, attempt = $3
      WHERE run_id = $1 AND lane = 'main' AND fence = $4 AND (turn, attempt) < ($2, $3) RETURNING 1`,
    values: [runId, turn, attempt, fence],
  });
  return rows.length > 0;
}

/**
 * Marks a first advance that ended before its next turn began as attempt 2, so that any worker may claim the lane. No
 * attempt with this number has ever been active.
 */
export async function releaseLane(sql: Sql, runId: string, fence: bigint): Promise<void> {
  await sql.query(
    `UPDATE lane SET attempt = 2 WHERE run_id = $1 AND lane = 'main' AND fence = $2 AND (turn, attempt) = (1, 1)`,
    [runId, fence],
  );
}

/** Whether that worker lives, and still has the run's first advance. */
export async function isCarried(sql: Sql, { runId }: Turn, worker: string): Promise<boolean> {
  const rows = await sql.query(
    `SELECT 1 FROM lane JOIN worker_seen ON worker_seen.id = $2
      WHERE run_id = $1 AND lane = 'main' AND (turn, attempt) = (1, 1) AND ${WORKER_LIVES}`,
    [runId, worker],
  );
  return rows.length > 0;
}
