import type { Deps } from '../../deps.js';
import { type Loops, startLoops } from '../../shared/repeat.js';
import { abortLive, STOP_CHANNEL } from '../live.js';
import { correctMonths } from '../months/correct-months.js';
import { reconcile } from '../outbox/reconcile.js';
import { sweepSlots } from '../slots/sweep-slots.js';

const SWEEP_SLOTS_EVERY_MS = 1_000;
const CORRECT_MONTHS_EVERY_MS = 60_000;
const RECONCILE_EVERY_MS = 60_000;
const RECONCILE_AT_LEAST_MS = 600_000;

/** The loops beside the worker: the reconciler, and the LISTEN handler for stop requests. */
export function startEngineLoops(deps: Deps): Loops {
  const unlisten = deps.db.listen(STOP_CHANNEL, (runId) => {
    abortLive(runId);
    deps.sandbox
      .kill(runId)
      .catch((error: unknown) => deps.log.error({ err: error, run: runId }, 'failed to kill a sandbox'));
  });
  let rowless: readonly string[] = [];
  const loops = startLoops(deps.log, [
    {
      name: 'reconciler',
      everyMs: RECONCILE_EVERY_MS,
      atLeastMs: RECONCILE_AT_LEAST_MS,
      work: async (signal) => {
        ({ rowless } = await reconcile(deps, { rowless, signal }));
      },
    },
    {
      name: 'months',
      everyMs: CORRECT_MONTHS_EVERY_MS,
      atLeastMs: RECONCILE_AT_LEAST_MS,
      work: (signal) => correctMonths(deps, signal),
    },
    { name: 'slots', everyMs: SWEEP_SLOTS_EVERY_MS, work: (signal) => sweepSlots(deps, signal) },
  ]);
  return {
    close: () => {
      unlisten();
      return loops.close();
    },
  };
}
