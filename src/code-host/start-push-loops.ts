import type { Deps } from '../deps.js';
import { InFlight } from '../shared/in-flight.js';
import { repeat } from '../shared/repeat.js';
import { beginPushes } from './begin-pushes.js';
import { sweepPushes } from './push-rows.js';

const EVERY_MS = 500;
const AT_MOST_MS = 2_000;
const SWEEP_EVERY_MS = 60_000;
/** Each deploy holds a tree in memory; one account gets half of the slots at most. */
const LIMITS = { atOnce: 4, each: 2 };

/** The loops beside each worker that deploy the pushes of code hosts, and delete old ones. */
export function startPushLoops(deps: Deps): { close(): Promise<void> } {
  const at = new InFlight(LIMITS, (error) => deps.log.warn({ err: error }, 'failed to record the outcome of a push'));
  const loops = [
    repeat(deps.log, { name: 'code host pushes', everyMs: EVERY_MS, atLeastMs: AT_MOST_MS }, () =>
      beginPushes(deps, at),
    ),
    repeat(deps.log, { name: 'old code host pushes', everyMs: SWEEP_EVERY_MS }, () => sweepPushes(deps.db)),
  ];
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.end()));
      await at.idle();
    },
  };
}
