import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type NativeConnection, Worker } from '@temporalio/worker';
import type { EvalActivities, RunActivities, ScheduleActivities, ToolTestActivities } from '../workflows/contract.js';
import { EagerStarts } from './eager-starts.js';
import { createRunTuner } from './slots/run-tuner.js';

export interface RunWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly activities: RunActivities & ToolTestActivities & EvalActivities & ScheduleActivities;
  /** The workflows, bundled ahead by the build: bundling at the start costs four seconds. */
  readonly bundlePath: string;
  /**
   * Whether a run may take up what only this build's workflows know (`patched`). Not while workers of another build
   * live: they could not replay its history. Always when left out.
   */
  readonly isOnlyBuild?: () => boolean;
  /** How long calls in flight may take to end once the worker shuts down; 20 s when left out. */
  readonly shutdownGraceMs?: number;
}

const SHUTDOWN_GRACE_MS = 20_000;

export interface RunWorker {
  /** Polls and works until `shutdown`. Rejects on an error after which the worker cannot go on. */
  run(): Promise<void>;
  /** Takes no more work. `run` resolves once calls in flight have ended or the grace time is over. */
  shutdown(): Promise<void>;
}

/** The worker of runs, with the settings that design measured to matter. */
export async function createRunWorker(options: RunWorkerOptions): Promise<RunWorker> {
  const { connection, namespace, taskQueue, activities, bundlePath, isOnlyBuild = () => true } = options;
  const { shutdownGraceMs = SHUTDOWN_GRACE_MS } = options;
  if (!existsSync(bundlePath)) throw new Error(`${bundlePath} is missing: run \`npm run build\`, then start again.`);
  const { tuner, watchUntil } = createRunTuner();
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: { codePath: bundlePath },
    activities: { ...activities },
    patchActivationCallback: isOnlyBuild,
    // Stop reaches a silent activity by its heartbeat's answer: 0.8 s so, 6.5 s by the defaults.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    // A run whose worker died goes to another after this.
    stickyQueueScheduleToStartTimeout: '3s',
    tuner,
    maxCachedWorkflows: 500,
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + 5_000,
  });
  watchUntil(() => worker.getState() === 'STOPPED' || worker.getState() === 'FAILED');
  const eagerStarts = EagerStarts.of(connection);
  eagerStarts.open();
  return {
    run: () => worker.run(),
    async shutdown() {
      await eagerStarts.close();
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
  };
}

/** What tells two builds of the workflows apart. */
export async function buildOf(bundlePath: string): Promise<string> {
  const code = await readFile(bundlePath).catch(() => '');
  return createHash('sha256').update(code).digest('hex').slice(0, 12);
}
