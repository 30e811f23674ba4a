import type { Deps } from '../deps.js';
import { type Loops, startLoops } from '../shared/repeat.js';
import { reconcileEvals } from './reconcile-evals.js';

const RECONCILE_EVERY_MS = 60_000;
const RECONCILE_AT_LEAST_MS = 600_000;

/** The reconciler of eval workflows, a loop beside the worker. */
export function startEvalLoop(deps: Deps): Loops {
  const pace = { name: 'evals', everyMs: RECONCILE_EVERY_MS, atLeastMs: RECONCILE_AT_LEAST_MS };
  return startLoops(deps.log, [{ ...pace, work: () => reconcileEvals(deps) }]);
}
