import type { Deps } from '../../deps.js';
import { InFlight } from '../../shared/in-flight.js';
import { repeat } from '../../shared/repeat.js';
import { beginMirrors } from './mirror-due.js';

const EVERY_MS = 1_000;
const AT_MOST_MS = 5_000;
/** Each is some processes of git; one account has half of it at most. */
const LIMITS = { atOnce: 4, each: 2 };

/** Brings mirrors up to date, beside each worker. Closing it ends a push that is under way, which is then another's. */
export function startMirrorLoop(deps: Deps): { close(): Promise<void> } {
  const stop = new AbortController();
  const at = new InFlight(LIMITS, (error) =>
    deps.log.warn({ err: error }, 'what became of a mirror could not be written'),
  );
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
