import { join } from 'node:path';
import { createActivities } from './activities/index.js';
import { createApp, serveApi } from './api/index.js';
import type { Deps } from './deps.js';
import { FirstAdvances, outboxQueue, startEngineLoops } from './engine/index.js';
import { startEvalLoop } from './evals/index.js';
import { notifyQueues } from './notify/index.js';
import { bootstrapAccount, renewBootstrapFile, writeBootstrapFile } from './people/index.js';
import {
  distDir,
  type Queue,
  type QueueName,
  startQueues,
  startWorkerHeartbeat,
  watchBuilds,
} from './platform/db/index.js';
import { startBlobSweep } from './platform/storage/index.js';
import {
  createWorkflows,
  keepWorker,
  LocalSlots,
  type LocalStarts,
  SHUTDOWN_GRACE_MS,
  type SwitchedWorkflows,
  workerVersion,
} from './platform/temporal/index.js';
import { mirrorQueue, pushQueue, startGitSweep } from './remotes/index.js';
import { CLOSE_MS } from './shared/closers.js';
import { settlesWithin, untilAborted } from './shared/deadline.js';
import type { ProcessLife } from './shared/process-life.js';
import { startScheduleLoops, triggerQueues } from './triggers/index.js';

const TEMPORAL_PATIENCE_MS = 5_000;

const bundlePath = join(distDir, 'workflows.js');

/** Runs the lanes of this process's runs. `firstPoll` resolves when it polls, or when Temporal is late. */
export async function startWorker(
  deps: Deps,
  switched: SwitchedWorkflows,
  life: ProcessLife,
): Promise<{ firstPoll: () => Promise<void> }> {
  const { config, db, log, models, sandbox, workerId } = deps;
  const { namespace, taskQueue } = config.temporal;
  const target = { address: config.temporal.address ?? '', tls: config.temporal.tls };
  const queues = {
    outbox: outboxQueue(deps),
    ...notifyQueues(deps),
    ...triggerQueues(deps),
    push: pushQueue(deps),
    mirror: mirrorQueue(deps),
  } satisfies Record<QueueName, Queue>;
  const loops = [startEngineLoops(deps), startScheduleLoops(deps), startQueues(deps, queues), startEvalLoop(deps)];
  const closeLoops = () => Promise.all(loops.map((loop) => loop.close()));
  life.add({ name: 'loops', close: closeLoops, withinMs: CLOSE_MS.loops });
  const version = await workerVersion(config.version, bundlePath);
  const entry = { id: workerId, version, sandbox: sandbox.driver, models: () => models.failing() };
  const seen = await startWorkerHeartbeat(db, entry, log);
  life.add({ name: 'worker register', close: seen.close, withinMs: CLOSE_MS.other });
  // On SIGTERM lanes stop at their next boundary, and another worker continues them.
  let isLeaving = false;
  const localSlots = new LocalSlots();
  const firstAdvances = new FirstAdvances(deps, { isLeaving: () => isLeaving, tryTakeSlot: localSlots.tryTake });
  const localStarts = { isAllowed: seen.isOnlyBuild, onStarted: (runId: string) => firstAdvances.beginEarly(runId) };
  const worker = keepWorker({
    target,
    namespace,
    taskQueue,
    activities: createActivities(deps, firstAdvances),
    bundlePath,
    isOnlyBuild: () => seen.isOnlyBuild(),
    localSlots,
    log,
    onConnected: (connection) => switched.use(createWorkflows({ connection, namespace, taskQueue, localStarts })),
  });
  const leave = () => {
    // Calls cut by the shutdown are not counted as worker deaths. After a crash they are.
    if (!life.isFaulty) {
      isLeaving = true;
      // Do not wait: a database that does not answer must not block the shutdown.
      void seen.leave();
    }
    return Promise.all([worker.close(), firstAdvances.close(SHUTDOWN_GRACE_MS)]);
  };
  life.add({ name: 'worker', close: leave, withinMs: CLOSE_MS.worker });
  return {
    async firstPoll() {
      if (await settlesWithin(untilAborted(worker.ready, life.signal), TEMPORAL_PATIENCE_MS)) return;
      life.say(`Temporal at ${target.address} does not answer yet: runs are accepted, and begin when it does.`);
    },
  };
}

/** What decides in a process without a worker whether its runs begin with a local activity. */
export async function localStartsOf({ config, db }: Pick<Deps, 'config' | 'db'>): Promise<LocalStarts> {
  return { isAllowed: watchBuilds(db, await workerVersion(config.version, bundlePath)) };
}

/** Serves HTTP, and creates the first account of an empty installation. Returns the address. */
export async function startApi(deps: Deps, life: ProcessLife): Promise<string> {
  const { dataDir } = deps.config;
  const server = await serveApi(deps, createApp(deps));
  const sweeps = [startGitSweep(deps), startBlobSweep(deps)];
  const closeSweeps = () => Promise.all(sweeps.map((sweep) => sweep.close()));
  life.add({ name: 'sweeps', close: closeSweeps, withinMs: CLOSE_MS.other });
  life.add({ name: 'api', close: () => server.close(), withinMs: CLOSE_MS.api });
  const file = join(dataDir, 'bootstrap.json');
  const made = await bootstrapAccount(deps, async (account) => {
    await writeBootstrapFile(dataDir, { url: server.url, ...account });
  });
  if (made) life.say(`Created the account "${made.account}" of ${made.email}. Its admin key is in ${file}`);
  else {
    const found = await renewBootstrapFile(dataDir, server.url);
    if (found === 'whole') life.say(`The admin key is in ${file}`);
    if (found === 'damaged') life.say(`${file} is damaged, so its address was not renewed: correct it, or remove it.`);
  }
  return server.url;
}
