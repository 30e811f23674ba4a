import type { Deps } from '../../deps.js';
import { repeat } from '../../shared/repeat.js';
import { mirrorDue } from './mirror-due.js';

const EVERY_MS = 1_000;
const AT_MOST_MS = 5_000;

/** Brings mirrors up to date, beside each worker. Closing it ends a push that is under way, which is then another's. */
export function startMirrorLoop(deps: Deps): { close(): Promise<void> } {
  const stop = new AbortController();
  const loop = repeat(deps.log, { name: 'mirrors', everyMs: EVERY_MS, atLeastMs: AT_MOST_MS }, () =>
    mirrorDue(deps, stop.signal),
  );
  return {
    close: async () => {
      stop.abort();
      await loop.end();
    },
  };
}
