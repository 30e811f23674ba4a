import type { Deps } from '../deps.js';
import { enqueueOutbox } from '../engine/index.js';
import { type Loops, startLoops } from '../shared/repeat.js';
import { closeEval } from './work/end-eval.js';

const GRACE_MS = 60_000;

const RECONCILE_EVERY_MS = 60_000;

const RECONCILE_AT_LEAST_MS = 600_000;

/** The reconciler of eval workflows, a loop beside the worker. */
export function startEvalLoop(deps: Deps): Loops {
  const pace = { name: 'evals', everyMs: RECONCILE_EVERY_MS, atLeastMs: RECONCILE_AT_LEAST_MS };
  return startLoops(deps.log, [{ ...pace, work: (signal) => reconcileEvals(deps, GRACE_MS, signal) }]);
}

/**
 * Brings eval runs and their workflows in line: restarts a run whose workflow Temporal does not know, and closes one as
 * lost whose workflow has ended without it. Stops between two runs once the signal is aborted.
 */
export async function reconcileEvals(
  deps: Deps,
  graceMs: number,
  signal?: AbortSignal,
): Promise<{ readonly started: readonly string[]; readonly lost: readonly string[] }> {
  const live = await deps.db.query<{ id: string }>(
    `SELECT id FROM eval_run e WHERE finished_at IS NULL AND created_at < now() - $1 * interval '1 ms'
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id = e.id)`,
    [graceMs],
  );
  const started: string[] = [];
  const lost: string[] = [];
  for (const { id } of live) {
    if (signal?.aborted) break;
    const state = await deps.workflows.describeRun(id);
    if (state === 'missing') {
      await enqueueOutbox(deps.db, id, 'start-eval');
      started.push(id);
    } else if (state === 'closed') {
      await closeEval(deps, id, 'lost: its workflow has ended without it');
      lost.push(id);
    }
  }
  return { started, lost };
}
