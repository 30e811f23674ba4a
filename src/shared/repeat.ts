import type { Log } from './log.js';

/** The share of time that a loop may work: a long round, as with thousands of parked runs, runs less often. */
const SHARE = 100;

export interface Pace {
  readonly name: string;
  readonly everyMs: number;
  /** However long a round takes. */
  readonly atLeastMs?: number;
  /** The first round begins at once instead of after `everyMs`. */
  readonly beginsNow?: boolean;
}

/** Several loops, which end together. */
export interface Loops {
  /** Ends the loops; resolves when no round runs any more. */
  close(): Promise<void>;
}

/** Repeats each work at its own pace until `close`. */
export function startLoops(log: Log, all: readonly (Pace & { readonly work: () => Promise<unknown> })[]): Loops {
  const loops = all.map(({ work, ...pace }) => repeat(log, pace, work));
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.end()));
    },
  };
}

/** How long after a round that took so long the next one begins, in ms. */
export function pauseAfter({ everyMs, atLeastMs = everyMs }: Pace, tookMs: number): number {
  return Math.min(Math.max(everyMs, tookMs * SHARE), atLeastMs);
}

/** Repeats the work until `end`, which resolves when no round runs any more. A failed round is retried. */
export function repeat(log: Log, pace: Pace, work: () => Promise<unknown>): { end(): Promise<void> } {
  const { name } = pace;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let at: Promise<void> = Promise.resolve();
  const round = async (): Promise<void> => {
    const began = performance.now();
    try {
      await work();
      if (failing) log.info({ loop: name }, 'loop recovered');
      failing = false;
    } catch (error) {
      // Log the first failure in a row only: an unreachable database is logged elsewhere too.
      if (!failing) log.warn({ err: error, loop: name }, 'loop failed, will retry');
      failing = true;
    }
    if (!ended) timer = setTimeout(next, pauseAfter(pace, performance.now() - began));
  };
  const next = (): void => {
    at = round();
  };
  if (pace.beginsNow) next();
  else timer = setTimeout(next, pace.everyMs);
  return {
    end: async () => {
      ended = true;
      clearTimeout(timer);
      await at;
    },
  };
}
