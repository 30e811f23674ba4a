import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { NativeConnection, Worker } from '@temporalio/worker';
import type {
  EvalActivities,
  RunActivities,
  ScheduleActivities,
  ToolTestActivities,
} from '../../workflows/contract.js';
import { EagerStarts } from './eager-starts.js';
import { LocalSlots } from './slots/local-slots.js';
import { createRunTuner } from './slots/run-tuner.js';

export interface RunWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly activities: RunActivities & ToolTestActivities & EvalActivities & ScheduleActivities;
  /** The bundle of workflows that the build made: bundling at the start takes four seconds. */
  readonly bundlePath: string;
  /**
   * True if runs may use features that only this build's workflows have (`patched`). False while workers of another
   * build live, since they could not replay such histories. Always true when left out.
   */
  readonly isOnlyBuild?: () => boolean;
  /** Gets this worker's slots for work outside activity tasks. */
  readonly localSlots?: LocalSlots;
  /** How long active calls may take to end after a shutdown; 20 s when left out. */
  readonly shutdownGraceMs?: number;
}

export const SHUTDOWN_GRACE_MS = 20_000;

export interface RunWorker {
  /** Polls and works until `shutdown`. Rejects on a fatal error. */
  run(): Promise<void>;
  /** Stops polling. `run` resolves once active calls have ended or the grace time is over. */
  shutdown(): Promise<void>;
}

/** Creates the worker of runs, with settings chosen by measurement. */
export async function createRunWorker(options: RunWorkerOptions): Promise<RunWorker> {
  const { connection, namespace, taskQueue, activities, bundlePath, isOnlyBuild = () => true } = options;
  const { shutdownGraceMs = SHUTDOWN_GRACE_MS, localSlots = new LocalSlots() } = options;
  if (!existsSync(bundlePath)) throw new Error(`${bundlePath} is missing: run \`npm run build\`, then start again.`);
  const { tuner, watchUntil } = createRunTuner(localSlots);
  const { Worker } = await import('@temporalio/worker');
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: { codePath: bundlePath },
    activities: { ...activities },
    patchActivationCallback: isOnlyBuild,
    // A cancellation reaches a silent activity with the answer to its heartbeat: after 0.8 s with this setting, 6.5 s
    // with the default.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    // When a worker died, its runs go to another worker after this time.
    stickyQueueScheduleToStartTimeout: '3s',
    tuner,
    maxCachedWorkflows: 500,
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + 5_000,
  });
  watchUntil(() => worker.getState() === 'STOPPED' || worker.getState() === 'FAILED');
  const eagerStarts = EagerStarts.of(connection);
  eagerStarts.open();
  const shutdown = shutdownAfter(worker, () => eagerStarts.close());
  // After a fatal error nothing takes the first task of an eager start.
  return { run: () => worker.run().finally(() => eagerStarts.close()), shutdown };
}

/** The version of a worker: the product's, then the build of its workflows. */
export async function workerVersion(version: string, bundlePath: string): Promise<string> {
  const code = await readFile(bundlePath).catch(() => '');
  return `${version}+${createHash('sha256').update(code).digest('hex').slice(0, 12)}`;
}

/**
 * Puts `prepare` before every shutdown of the worker, and returns the shutdown. The worker calls its own method after
 * an unexpected error (SDK 1.24), so the method of the instance is replaced.
 */
export function shutdownAfter(
  worker: Pick<Worker, 'shutdown' | 'getState'>,
  prepare: () => Promise<void>,
): () => Promise<void> {
  const shutdownNow = worker.shutdown.bind(worker);
  const shutdown = async () => {
    await prepare();
    if (worker.getState() === 'RUNNING') shutdownNow();
  };
  worker.shutdown = () => void shutdown();
  return shutdown;
}
