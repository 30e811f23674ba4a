import type { NativeConnection } from '@temporalio/worker';
import { sleep, untilAborted } from '../../shared/deadline.js';
import type { Log } from '../../shared/log.js';
import { boundCalls } from './bounded-calls.js';
import { connectWorker, type TemporalTarget } from './connect-temporal.js';
import { createRunWorker, type RunWorker, type RunWorkerOptions } from './create-run-worker.js';

export interface KeepWorkerOptions extends Omit<RunWorkerOptions, 'connection'> {
  readonly target: TemporalTarget;
  readonly log: Log;
  /** Called with each new connection: the first one, and one after each fatal error. The receiver closes it. */
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

/** The pause before the next attempt. A worker that ran for the longest pause was healthy: its error begins a new series. */
export function pauseAfterRun(lastMs: number | null, ranMs: number): number {
  if (lastMs === null || ranMs >= LONGEST_WAIT_MS) return FIRST_WAIT_MS;
  return Math.min(lastMs * 2, LONGEST_WAIT_MS);
}

/**
 * Opens a connection on which Temporal answers for the namespace. While it does not, nothing must reach `Worker.create`:
 * it starts a thread and registers the worker before it asks, and undoes neither when that fails (SDK 1.24).
 */
async function connect({ target, namespace }: KeepWorkerOptions): Promise<NativeConnection> {
  const connection = await connectWorker(target);
  try {
    await boundCalls(connection).call(() => connection.workflowService.describeNamespace({ namespace }));
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

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

/**
 * Keeps a worker running: waits while the server is unavailable, and restarts the worker after a fatal error. Each worker
 * gets its own connection: a worker that failed stays registered on its connection, which refuses another (SDK 1.24).
 */
export function keepWorker(options: KeepWorkerOptions): KeptWorker {
  const stopping = new AbortController();
  let markReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });
  let worker: RunWorker | undefined;
  /** When the current worker began to poll, by `performance.now()`; null before. */
  let pollsSince: number | null = null;

  async function runOnce(): Promise<void> {
    const connection = await unlessStopped(connect(options), stopping.signal);
    options.onConnected(connection);
    worker = await createRunWorker({ ...options, connection });
    const running = worker.run();
    const stopped = stopping.signal.aborted ? worker.shutdown() : Promise.resolve();
    markReady();
    pollsSince = performance.now();
    await Promise.all([running, stopped]);
  }

  async function loop(): Promise<void> {
    let wait: number | null = null;
    while (!stopping.signal.aborted) {
      pollsSince = null;
      try {
        await runOnce();
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        wait = pauseAfterRun(wait, pollsSince === null ? 0 : performance.now() - pollsSince);
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
