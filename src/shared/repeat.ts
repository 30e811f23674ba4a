import type { Log } from './log.js';

/**
 * A loop pauses for this many times the duration of its round, so that long rounds, as with thousands of parked runs,
 * take at most a hundredth of the time.
 */
const SHARE = 100;

export interface Pace {
  readonly name: string;
  readonly everyMs: number;
  /** The maximum pause, however long a round takes. */
  readonly atLeastMs?: number;
  /** The first round begins at once instead of after `everyMs`. */
  readonly beginsNow?: boolean;
}

/** A round of a loop. The signal is aborted at the loop's end: a long round then stops between two items. */
export type Round = (signal: AbortSignal) => Promise<unknown>;

/** Several loops, which end together. */
export interface Loops {
  /** Ends the loops at once: none starts another round. Resolves when no round is running. */
  close(): Promise<void>;
}

/** Repeats each work at its own pace until `close`. */
export function startLoops(log: Log, all: readonly (Pace & { readonly work: Round })[]): Loops {
  const loops = all.map(({ work, ...pace }) => repeat(log, pace, work));
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.end()));
    },
  };
}

/** The pause after a round of this duration, in ms. */
export function pauseAfter({ everyMs, atLeastMs = everyMs }: Pace, tookMs: number): number {
  return Math.min(Math.max(everyMs, tookMs * SHARE), atLeastMs);
}

/** Repeats the work until `end`, which resolves when no round is running. A failed round is retried. */
export function repeat(log: Log, pace: Pace, work: Round): { end(): Promise<void> } {
  const { name } = pace;
  const ended = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let at: Promise<void> = Promise.resolve();
  const round = async (): Promise<void> => {
    const began = performance.now();
    try {
      await work(ended.signal);
      if (failing) log.info({ loop: name }, 'loop recovered');
      failing = false;
    } catch (error) {
      // Log the first failure in a row only: an unreachable database is logged elsewhere too.
      if (!failing && !ended.signal.aborted) log.warn({ err: error, loop: name }, 'loop failed, will retry');
      failing = true;
    }
    if (!ended.signal.aborted) timer = setTimeout(next, pauseAfter(pace, performance.now() - began));
  };
  const next = (): void => {
    at = round();
  };
  if (pace.beginsNow) next();
  else timer = setTimeout(next, pace.everyMs);
  return {
    end: async () => {
      ended.abort();
      clearTimeout(timer);
      await at;
    },
  };
}
