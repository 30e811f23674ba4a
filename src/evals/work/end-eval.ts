import type { Deps } from '../../deps.js';
import { announceRuns, endRuns, enqueueOutbox } from '../../engine/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { reportFailedEval } from '../report-failed-eval.js';
import { settleLostJudgeCall } from './judge-books.js';

export interface EvalEnd {
  readonly status: 'stopped' | 'failed';
  readonly error: string;
}

/** Marks the eval run as running and returns its number of attempts. */
export async function openEval(deps: Deps, evalRunId: string): Promise<number> {
  const [row] = await deps.db.query<{ count: number }>(
    `WITH e AS (UPDATE eval_run SET status = 'running', started_at = now() WHERE id = $1 AND status = 'queued')
      SELECT count(*)::int AS count FROM eval_attempt WHERE eval_run_id = $1`,
    [evalRunId],
  );
  return row?.count ?? 0;
}

/** Ends an eval run after all its attempts. A stopped one stays stopped. */
export async function endEval(deps: Deps, evalRunId: string): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const ended = await sql.query(
      `UPDATE eval_run SET status = 'completed', finished_at = now() WHERE id = $1 AND finished_at IS NULL RETURNING 1`,
      [evalRunId],
    );
    if (ended.length > 0) await reportFailedEval(sql, evalRunId);
  });
}

/** Closes an eval run that was cut short, with the runs of its cases. */
export async function closeEval(deps: Deps, evalRunId: string, error: string): Promise<void> {
  const ended = await deps.db.transaction((sql) => cutEval(sql, evalRunId, { status: 'failed', error }));
  void announceRuns(deps, ended ?? []);
}

/**
 * Ends an eval run early, by compare-and-set: ends active attempts and their runs, and cancels the workflow through the
 * outbox. Returns the runs to announce; null when the eval run had ended.
 */
export async function cutEval(sql: Sql, evalRunId: string, { status, error }: EvalEnd): Promise<string[] | null> {
  const [row] = await sql.query(
    `UPDATE eval_run SET status = $2, error = $3, finished_at = now() WHERE id = $1 AND finished_at IS NULL RETURNING 1`,
    [evalRunId, status, error],
  );
  if (!row) return null;
  const runs = await sql.query<{ id: string }>(
    `SELECT r.id FROM run r JOIN eval_attempt a ON a.run_id = r.id WHERE a.eval_run_id = $1 AND r.finished_at IS NULL
      ORDER BY r.id FOR UPDATE OF r`,
    [evalRunId],
  );
  const ids = runs.map(({ id }) => id);
  const asked = await sql.query<{ k: number }>(
    'SELECT k FROM eval_attempt WHERE eval_run_id = $1 AND judge_held IS NOT NULL ORDER BY k',
    [evalRunId],
  );
  for (const { k } of asked) await settleLostJudgeCall(sql, { evalRunId, k });
  const ended = ids.length === 0 ? [] : await endRuns(sql, ids, { error, stopped: status === 'stopped' });
  await sql.query(
    `UPDATE eval_attempt a SET state = 'error', passed = false, score = 0, error = $2, finished_at = now(),
        cost_nano = judge_nano + coalesce((SELECT spent_nano FROM run WHERE id = a.run_id), 0)
      WHERE eval_run_id = $1 AND state IN ('pending', 'running')`,
    [evalRunId, error],
  );
  await enqueueOutbox(sql, evalRunId, 'cancel');
  await reportFailedEval(sql, evalRunId);
  return [evalRunId, ...ended];
}
