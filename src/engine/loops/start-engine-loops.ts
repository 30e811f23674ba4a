import type { Deps } from '../../deps.js';
import { abortLive, STOP_CHANNEL, worker } from '../live.js';
import { sweepOutbox } from '../outbox/outbox.js';
import { reconcile } from '../outbox/reconcile.js';

const SWEEP_EVERY_MS = 500;
const RECONCILE_EVERY_MS = 60_000;

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
    repeat(deps, 'outbox', SWEEP_EVERY_MS, () => sweepOutbox(deps)),
    repeat(deps, 'reconciler', RECONCILE_EVERY_MS, () => reconcile(deps)),
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

function repeat(deps: Deps, name: string, everyMs: number, work: () => Promise<unknown>): { end(): Promise<void> } {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let at: Promise<void> = Promise.resolve();
  const round = async (): Promise<void> => {
    try {
      await work();
      if (failing) deps.log.info({ loop: name }, 'the loop works again');
      failing = false;
    } catch (error) {
      // One line when it begins to fail, not one each time: a database that is away is told elsewhere too.
      if (!failing) deps.log.warn({ error, loop: name }, 'the loop failed and goes on trying');
      failing = true;
    }
    if (!ended) timer = setTimeout(next, everyMs);
  };
  const next = (): void => {
    at = round();
  };
  timer = setTimeout(next, everyMs);
  return {
    end: async () => {
      ended = true;
      clearTimeout(timer);
      await at;
    },
  };
}
