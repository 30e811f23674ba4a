import type { Deps } from '../deps.js';
import { repeat } from '../shared/repeat.js';
import { reconcileSchedules } from './reconcile-schedules.js';
import { startWaiting } from './start-waiting.js';
import { syncSchedules } from './sync-schedules.js';

const SYNC_EVERY_MS = 500;
const START_WAITING_EVERY_MS = 1_000;
const RECONCILE_EVERY_MS = 60_000;
const RECONCILE_AT_LEAST_MS = 600_000;

/** The loops for schedules beside a worker. None of them watches the clock: Temporal does. */
export function startScheduleLoops(deps: Deps): { close(): Promise<void> } {
  const loops = [
    repeat(deps.log, { name: 'schedules', everyMs: SYNC_EVERY_MS }, () => syncSchedules(deps)),
    repeat(deps.log, { name: 'waiting firings', everyMs: START_WAITING_EVERY_MS }, () => startWaiting(deps)),
    repeat(deps.log, { name: 'schedule drift', everyMs: RECONCILE_EVERY_MS, atLeastMs: RECONCILE_AT_LEAST_MS }, () =>
      reconcileSchedules(deps),
    ),
  ];
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.end()));
    },
  };
}
