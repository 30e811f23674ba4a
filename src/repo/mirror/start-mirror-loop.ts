import type { Deps } from '../../deps.js';
import { InFlight } from '../../shared/in-flight.js';
import { repeat } from '../../shared/repeat.js';
import { beginMirrors } from './mirror-due.js';

const EVERY_MS = 1_000;
const AT_MOST_MS = 5_000;
/** Each push takes some git processes; one account gets half of the slots at most. */
const LIMITS = { atOnce: 4, each: 2 };

/** The loop beside each worker that updates mirrors. Closing it ends a running push, which another worker then retries. */
export function startMirrorLoop(deps: Deps): { close(): Promise<void> } {
  const stop = new AbortController();
  const at = new InFlight(LIMITS, (error) => deps.log.warn({ err: error }, 'failed to record the outcome of a mirror'));
  const loop = repeat(deps.log, { name: 'mirrors', everyMs: EVERY_MS, atLeastMs: AT_MOST_MS }, () =>
    beginMirrors(deps, at, stop.signal),
  );
  return {
    close: async () => {
      stop.abort();
      await loop.end();
      await at.idle();
    },
  };
}
