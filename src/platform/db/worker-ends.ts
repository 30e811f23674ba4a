import type { Sql } from './contract.js';
import { sweepRows } from './sweep-rows.js';
import { lockIsHeld } from './worker-lock.js';

/** A worker that holds no lock and is silent for longer than a beat and a half has ended. */
const SILENT_MS = 8_000;
/** Workers whose last beats lie within two beats of one another ended together. */
const TOGETHER_MS = 10_000;

/** SQL: a starved worker is silent and still holds its lock, so silence alone proves no end. */
function isAlive(row: 'w' | 'o'): string {
  return `(${row}.ended_at IS NULL AND (${row}.seen_at > now() - $2 * interval '1 ms' OR (${row}.locked AND ${lockIsHeld(`${row}.id`)})))`;
}

export type WorkerEnd = 'alive' | 'left' | 'blocked' | 'ended-with-others' | 'died';

/**
 * How a worker ended since its main thread had been blocked `blocks` times: it lives, it was blocked once more, it shut down on request, it ended together with others that lived at the same time
 * (the host or the network failed), or it died. An unknown worker counts as dead.
 */
export async function lastOf(db: Sql, worker: string, blocks = 0): Promise<WorkerEnd> {
  const [row] = await db.query<{ alive: boolean; left: boolean; blocks: number; others: number }>({
    name: 'worker-last',
    text: `SELECT ${isAlive('w')} AS alive, w.leaving_at IS NOT NULL AS left, w.blocks,
        (SELECT count(*)::int FROM worker_seen o WHERE o.id <> w.id AND o.leaving_at IS NULL
          AND o.started_at < w.seen_at AND w.started_at < o.seen_at
          AND o.seen_at BETWEEN w.seen_at - $3 * interval '1 ms' AND w.seen_at + $3 * interval '1 ms'
          AND NOT ${isAlive('o')}) AS others
      FROM worker_seen w WHERE w.id = $1`,
    values: [worker, SILENT_MS, TOGETHER_MS],
  });
  if (row === undefined) return 'died';
  if (row.left) return 'left';
  if (row.blocks > blocks) return 'blocked';
  if (row.alive) return 'alive';
  return row.others > 0 ? 'ended-with-others' : 'died';
}

/**
 * Deletes the rows of workers that ended long ago. A row stays while a call that may be retried names its worker, and so
 * does the row of a worker that ended together with it: without it, that end would look like a crash.
 */
export async function sweepWorkers(db: Sql): Promise<void> {
  await sweepRows(
    db,
    'worker_seen',
    `seen_at < now() - interval '1 day' AND NOT EXISTS (
      SELECT 1 FROM (
        SELECT c.result->>'worker' AS id FROM run r JOIN call c ON c.run_id = r.id
          WHERE r.finished_at IS NULL AND c.state = 'started'
        UNION SELECT judge_call->>'worker' FROM eval_attempt WHERE state = 'running') named
      JOIN worker_seen n ON n.id = named.id
      WHERE n.seen_at BETWEEN worker_seen.seen_at - $1 * interval '1 ms' AND worker_seen.seen_at + $1 * interval '1 ms')`,
    [TOGETHER_MS],
  );
}
