import type { NativeConnection } from '@temporalio/worker';
import { sleep, untilAborted } from '../../shared/deadline.js';
import type { Log } from '../../shared/log.js';
import { connectWorker, type TemporalTarget } from './connect-temporal.js';
import { createRunWorker, type RunWorker, type RunWorkerOptions } from './create-run-worker.js';

export interface KeepWorkerOptions extends Omit<RunWorkerOptions, 'connection'> {
  readonly target: TemporalTarget;
  readonly log: Log;
  /** Called once, when Temporal answers for the first time. The connection lives until `close`. */
  readonly onConnected: (connection: NativeConnection) => void;
}

export interface KeptWorker {
  /** Resolves when the worker polls for the first time. */
  readonly ready: Promise<void>;
  /** Stops polling, lets active calls end within the grace time, and returns when nothing runs. */
  close(): Promise<void>;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;

/**
 * A server that accepts connections and sends nothing blocks a connect for half a minute: a stop does not wait for it.
 */
async function unlessStopped(connecting: Promise<NativeConnection>, stopping: AbortSignal): Promise<NativeConnection> {
  try {
    return await untilAborted(connecting, stopping);
  } catch (error) {
    connecting.then((late) => late.close()).catch(() => undefined);
    throw error;
  }
}

/** Keeps a worker running: waits while the server is unavailable, and restarts the worker after a fatal error. */
export function keepWorker(options: KeepWorkerOptions): KeptWorker {
  const stopping = new AbortController();
  let markReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });
  let connection: NativeConnection | undefined;
  let worker: RunWorker | undefined;

  async function runOnce(): Promise<void> {
    if (!connection) {
      connection = await unlessStopped(connectWorker(options.target), stopping.signal);
      options.onConnected(connection);
    }
    worker = await createRunWorker({ ...options, connection });
    const running = worker.run();
    const stopped = stopping.signal.aborted ? worker.shutdown() : Promise.resolve();
    markReady();
    await Promise.all([running, stopped]);
  }

  async function loop(): Promise<void> {
    for (let wait = FIRST_WAIT_MS; !stopping.signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        await runOnce();
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        options.log.warn({ err: error, retryInMs: wait }, 'worker failed, will retry');
        await sleep(wait, stopping.signal).catch(() => undefined);
      }
    }
  }

  const looping = loop();
  return {
    ready,
    async close() {
      stopping.abort();
      await worker?.shutdown();
      await looping;
    },
  };
}
