import type { Deps } from '../deps.js';
import { InFlight } from '../shared/in-flight.js';
import { repeat } from '../shared/repeat.js';
import { beginPushes } from './begin-pushes.js';
import { sweepPushes } from './push-rows.js';

const EVERY_MS = 500;
const AT_MOST_MS = 2_000;
const SWEEP_EVERY_MS = 60_000;
/** Each holds a tree in memory; one account has half of it at most. */
const LIMITS = { atOnce: 4, each: 2 };

/** Deploys what code hosts pushed, beside each worker, and removes what no list shows any more. */
export function startPushLoops(deps: Deps): { close(): Promise<void> } {
  const at = new InFlight(LIMITS, (error) =>
    deps.log.warn({ err: error }, 'what became of a push could not be written'),
  );
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
