import type { Deps } from '../../deps.js';
import { abortLive, STOP_CHANNEL, worker } from '../live.js';
import { correctMonths } from '../months/correct-months.js';
import { sweepOutbox } from '../outbox/outbox.js';
import { reconcile } from '../outbox/reconcile.js';
import { sweepSlots } from '../slots/sweep-slots.js';

const SWEEP_EVERY_MS = 500;
const SWEEP_SLOTS_EVERY_MS = 1_000;
const CORRECT_MONTHS_EVERY_MS = 60_000;
const RECONCILE_EVERY_MS = 60_000;
const RECONCILE_AT_LEAST_MS = 600_000;
/** A round that takes long, as with thousands of parked runs, is made less often: it has this part of the time. */
const SHARE = 100;

export interface EngineLoops {
  /** SIGTERM: lanes stop at their next border and the next worker goes on. */
  leave(): void;
  /** Ends the loops; resolves when none is at work. */
  close(): Promise<void>;
}

/** What runs beside the worker: the outbox's sweep, the reconciler, and the ear for stops. */
export function startEngineLoops(deps: Deps): EngineLoops {
  worker.leaving = false;
  const unlisten = deps.db.listen(STOP_CHANNEL, (runId) => {
    abortLive(runId);
    deps.sandbox
      .kill(runId)
      .catch((error: unknown) => deps.log.error({ error, run: runId }, 'a sandbox would not die'));
  });
  const loops = [
    repeat(deps, { name: 'outbox', everyMs: SWEEP_EVERY_MS }, () => sweepOutbox(deps)),
    repeat(deps, { name: 'reconciler', everyMs: RECONCILE_EVERY_MS, atLeastMs: RECONCILE_AT_LEAST_MS }, () =>
      reconcile(deps),
    ),
    repeat(deps, { name: 'months', everyMs: CORRECT_MONTHS_EVERY_MS, atLeastMs: RECONCILE_AT_LEAST_MS }, () =>
      correctMonths(deps),
    ),
    repeat(deps, { name: 'slots', everyMs: SWEEP_SLOTS_EVERY_MS }, () => sweepSlots(deps)),
  ];
  return {
    leave: () => {
      worker.leaving = true;
    },
    close: async () => {
      unlisten();
      await Promise.all(loops.map((loop) => loop.end()));
    },
  };
}

interface Pace {
  readonly name: string;
  readonly everyMs: number;
  /** However long a round takes. */
  readonly atLeastMs?: number;
}

/** How long after a round that took so long the next one begins, in ms. */
export function pauseAfter({ everyMs, atLeastMs = everyMs }: Pace, tookMs: number): number {
  return Math.min(Math.max(everyMs, tookMs * SHARE), atLeastMs);
}

function repeat(deps: Deps, pace: Pace, work: () => Promise<unknown>): { end(): Promise<void> } {
  const { name } = pace;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let at: Promise<void> = Promise.resolve();
  const round = async (): Promise<void> => {
    const began = performance.now();
    try {
      await work();
      if (failing) deps.log.info({ loop: name }, 'the loop works again');
      failing = false;
    } catch (error) {
      // One line when it begins to fail, not one each time: a database that is away is told elsewhere too.
      if (!failing) deps.log.warn({ error, loop: name }, 'the loop failed and goes on trying');
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
