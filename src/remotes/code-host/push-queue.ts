import type { Deps } from '../../deps.js';
import type { Queue } from '../../platform/db/index.js';
import { InFlight } from '../../shared/in-flight.js';
import { beginPushes } from './begin-pushes.js';
import { sweepPushes } from './push-rows.js';

const SWEEP_EVERY_MS = 60_000;
/** Each deploy holds a tree in memory; one account gets half of the slots at most. */
const LIMITS = { atOnce: 4, each: 2 };

/** Deploys the pushes of code hosts. The end of the process stops a running fetch, which another worker then retries. */
export function pushQueue(deps: Deps): Queue {
  const at = new InFlight(LIMITS, (error) => deps.log.warn({ err: error }, 'failed to record the outcome of a push'));
  return {
    nextDue: `SELECT min(due_at) FROM code_push WHERE state IN ('pending', 'waiting')`,
    work: (signal) => beginPushes(deps, at, signal),
    end: () => at.idle(),
    sweep: { everyMs: SWEEP_EVERY_MS, run: () => sweepPushes(deps.db) },
  };
}
