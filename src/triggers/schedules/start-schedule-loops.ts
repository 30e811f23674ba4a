import type { Deps } from '../../deps.js';
import { type Loops, startLoops } from '../../shared/repeat.js';
import { reconcileSchedules } from './reconcile-schedules.js';
import { startWaiting } from './start-waiting.js';
import { syncSchedules } from './sync-schedules.js';

const SYNC_EVERY_MS = 500;
const START_WAITING_EVERY_MS = 1_000;
const RECONCILE_EVERY_MS = 60_000;
const RECONCILE_AT_LEAST_MS = 600_000;

/** The loops for schedules beside a worker. None of them watches the clock: Temporal does. */
export function startScheduleLoops(deps: Deps): Loops {
  return startLoops(deps.log, [
    { name: 'schedules', everyMs: SYNC_EVERY_MS, work: (signal) => syncSchedules(deps, null, signal) },
    { name: 'waiting firings', everyMs: START_WAITING_EVERY_MS, work: (signal) => startWaiting(deps, signal) },
    {
      name: 'schedule drift',
      everyMs: RECONCILE_EVERY_MS,
      atLeastMs: RECONCILE_AT_LEAST_MS,
      work: (signal) => reconcileSchedules(deps, signal),
    },
  ]);
}
