import type { Log } from './log.js';

/** A round that takes long, as with thousands of parked runs, is made less often: it has this part of the time. */
const SHARE = 100;

export interface Pace {
  readonly name: string;
  readonly everyMs: number;
  /** However long a round takes. */
  readonly atLeastMs?: number;
}

/** How long after a round that took so long the next one begins, in ms. */
export function pauseAfter({ everyMs, atLeastMs = everyMs }: Pace, tookMs: number): number {
  return Math.min(Math.max(everyMs, tookMs * SHARE), atLeastMs);
}

/** Does the work over and over until it is ended; resolves when none is at work. A round that fails is tried again. */
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
      if (failing) log.info({ loop: name }, 'the loop works again');
      failing = false;
    } catch (error) {
      // One line when it begins to fail, not one each time: a database that is away is told elsewhere too.
      if (!failing) log.warn({ err: error, loop: name }, 'the loop failed and goes on trying');
      failing = true;
    }
    if (!ended) timer = setTimeout(next, pauseAfter(pace, performance.now() - began));
  };
  const next = (): void => {
    at = round();
  };
  timer = setTimeout(next, pace.everyMs);
  return {
    end: async () => {
      ended = true;
      clearTimeout(timer);
      await at;
    },
  };
}
