import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { createActivities } from '../../src/activities/index.js';
import type { RunView } from '../../src/contract/runs.js';
import type { Deps } from '../../src/deps.js';
import { FirstAdvances, outboxQueue, startEngineLoops } from '../../src/engine/index.js';
import { startEvalLoop } from '../../src/evals/index.js';
import { createModels } from '../../src/models/index.js';
import type { Config } from '../../src/platform/config/index.js';
import { createDb, type Db, distDir, startQueues } from '../../src/platform/db/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import {
  createRunWorker,
  createWorkflows,
  installRuntime,
  LocalSlots,
  type RunWorkerOptions,
  SHUTDOWN_GRACE_MS,
} from '../../src/platform/temporal/index.js';
import { createSandbox } from '../../src/sandbox/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { newId } from '../../src/shared/ids.js';
import type { Role } from '../../src/shared/roles.js';
import { triggerQueues } from '../../src/triggers/index.js';
import { createKey, createTestApp, createTestDeps, type TestApp } from './create-test-app.js';
import { directChecker } from './direct-checker.js';
import { atFileEnd } from './file-end.js';
import { PATIENCE_MS } from './patience.js';
import { freshDatabase, testDatabase } from './postgres.js';
import { markOf, untilNews } from './run-news.js';
import { sendWithRetry } from './send-with-retry.js';
import { silentLog } from './silent-log.js';
import { testTemporal } from './temporal.js';
import { fileList, noModels, type Tree } from './workspace-app.js';

export interface EngineApp extends TestApp {
  readonly taskQueue: string;
  workspace(files: Tree): Promise<string>;
  /** Starts a run and answers its id. */
  start(workspace: string, flow: string, body?: object): Promise<string>;
  run(workspace: string, id: string): Promise<RunView>;
  /** Waits until the run is as asked, by its events. */
  until(workspace: string, id: string, holds: (run: RunView) => boolean, timeoutMs?: number): Promise<RunView>;
  ended(workspace: string, id: string): Promise<RunView>;
  /** A key of another member of that role. */
  keyFor(role: Role): Promise<string>;
  /** Ends the worker as SIGTERM would. */
  stopWorker(): Promise<void>;
  /** Ends it and starts another one, of that build. */
  restartWorker(build: WorkerBuild): Promise<void>;
}

export type WorkerBuild = Partial<Pick<RunWorkerOptions, 'bundlePath' | 'isOnlyBuild' | 'shutdownGraceMs'>> & {
  /** Whether runs begin with a local activity; when left out, as the product decides. */
  readonly startsLocally?: boolean;
};

export interface EngineOptions {
  readonly models?: Config['models'];
  /** False leaves the worker out: nothing goes on until somebody else works on the queue. */
  readonly worker?: boolean;
  readonly deps?: Partial<Deps>;
  /** Puts something between the app and its own database. */
  readonly wrapDb?: (db: Db) => Db;
  /** Settings of its own database. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** A server of the test's own. */
  readonly temporal?: ReturnType<typeof testTemporal>;
  readonly build?: WorkerBuild;
  /** Hosts that an operator opened: deploys check against them. */
  readonly allowHosts?: Config['allowHosts'];
}

/** Temporal's runtime is one a process. */
let installed: Promise<void> | undefined;

/** The whole engine on the real database and the real Temporal, with a worker in this process on a queue of its own. */
export async function createEngineApp(options: EngineOptions = {}): Promise<EngineApp> {
  const taskQueue = `test-${newId()}`;
  const { address, namespace } = options.temporal ?? testTemporal();
  installed ??= installRuntime(silentLog);
  await installed;
  const connection = await NativeConnection.connect({ address });
  const { config } = await createTestDeps();
  const { db, close: closeDb } = await engineDb(options);
  const models = createModels({
    config: { ...config, models: options.models ?? noModels },
    log: silentLog,
    clock: systemClock,
  });
  const sandbox = await createSandbox({
    config,
    db,
    net: options.deps?.net ?? createNet({ config }),
    log: silentLog,
    workerId: `${hostname()}-${newId()}`,
  });
  let worker: Worker | null = null;
  const localStarts = {
    isAllowed: () => worker?.startsLocally() ?? false,
    onStarted: (runId: string) => worker?.firstAdvances.beginEarly(runId),
  };
  const workflows = createWorkflows({ connection, namespace, taskQueue, localStarts });
  const app = await createTestApp({
    config: { dataDir: config.dataDir, ...(options.allowHosts && { allowHosts: options.allowHosts }) },
    deps: {
      db,
      workflows,
      models,
      sandbox,
      checker: directChecker,
      blobs: createBlobStore({ dataDir: config.dataDir, s3: null }),
      ...options.deps,
    },
  });
  const start = (build: WorkerBuild = {}) => startWorker(app.deps, { connection, namespace, taskQueue, ...build });
  if (options.worker !== false) worker = await start(options.build);
  const stop = async () => worker?.stop();
  const stopWorker = stop;
  const restartWorker = async (build: WorkerBuild) => {
    await stop();
    worker = await start(build);
  };
  atFileEnd(async () => {
    await stop();
    await sandbox.close();
    await connection.close();
    await closeDb();
  });
  const keyFor = (role: Role) => createKey(app.deps, { tenant: app.tenant, owner: app.owner, role });
  return { ...app, taskQueue, stopWorker, restartWorker, keyFor, ...verbs(app) };
}

/** A database of its own: the loops of one app, its outbox's sweep among them, never touch another's runs. */
async function engineDb(options: EngineOptions): Promise<{ db: Db; close: () => Promise<void> }> {
  const { deps, wrapDb = (db) => db, postgresSettings, worker } = options;
  if (deps?.db) {
    if (worker !== false) await refuseSharedDatabase(deps.db);
    return { db: deps.db, close: async () => undefined };
  }
  const { url, drop } = await freshDatabase(undefined, postgresSettings);
  const db = createDb({ url, ca: null, poolSize: 10, log: silentLog });
  const close = async () => {
    await db.close();
    await drop();
  };
  return { db: wrapDb(db), close };
}

/** Its worker would take up the runs that other apps of the test file left in the file's, and ask its provider for them. */
async function refuseSharedDatabase(db: Db): Promise<void> {
  const [row] = await db.query<{ name: string }>('SELECT current_database() AS name');
  if (new URL(testDatabase()).pathname === `/${row?.name}`)
    throw new Error('an app with a worker needs a database of its own');
}

interface At extends WorkerBuild {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
}

interface Worker {
  readonly firstAdvances: FirstAdvances;
  startsLocally(): boolean;
  stop(): Promise<void>;
}

async function startWorker(deps: Deps, at: At): Promise<Worker> {
  const bundlePath = at.bundlePath ?? join(distDir, 'workflows.js');
  if (!existsSync(bundlePath)) throw new Error('run npm run build first');
  let stopped = false;
  const localSlots = new LocalSlots();
  const firstAdvances = new FirstAdvances(deps, { isLeaving: () => stopped, tryTakeSlot: localSlots.tryTake });
  const activities = createActivities(deps, firstAdvances);
  const worker = await createRunWorker({ ...at, activities, bundlePath, localSlots });
  const loops = startEngineLoops(deps);
  const queues = startQueues(deps, { outbox: outboxQueue(deps), ...triggerQueues(deps) });
  const evals = startEvalLoop(deps);
  const running = worker.run();
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await Promise.all([worker.shutdown(), firstAdvances.close(at.shutdownGraceMs ?? SHUTDOWN_GRACE_MS)]);
    await running;
    await queues.close();
    await loops.close();
    await evals.close();
  };
  // The workflows of an earlier release know no local start.
  const knowsLocal = at.bundlePath === undefined || at.bundlePath === join(distDir, 'workflows.js');
  const startsLocally = () => at.startsLocally ?? (knowsLocal && (at.isOnlyBuild?.() ?? true));
  return { firstAdvances, startsLocally, stop };
}

function verbs(app: TestApp) {
  async function run(workspace: string, id: string): Promise<RunView> {
    const response = await sendWithRetry(() => app.get(`/api/workspaces/${workspace}/runs/${id}`));
    if (response.status !== 200) throw new Error(`run: ${response.status} ${await response.text()}`);
    return (await response.json()) as RunView;
  }
  function post(path: string, body: object): Promise<Response> {
    const headers = { 'idempotency-key': newId() };
    return sendWithRetry(() => app.post(path, body, { headers }));
  }
  async function until(
    workspace: string,
    id: string,
    holds: (run: RunView) => boolean,
    timeoutMs = PATIENCE_MS.run,
  ): Promise<RunView> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const mark = await markOf(app.deps.db, id);
      const view = await run(workspace, id);
      if (holds(view)) return view;
      if (Date.now() > end)
        throw new Error(`the run stayed ${view.status}: ${JSON.stringify(view, null, 1).slice(0, 6_000)}`);
      await untilNews(app.deps.db, { run: id, mark });
    }
  }
  return {
    run,
    until,
    ended: (workspace: string, id: string) => until(workspace, id, (view) => view.finishedAt !== null),
    workspace: async (files: Tree) => {
      const name = `w-${newId().slice(-12)}`;
      const response = await post('/api/workspaces', { name, files: fileList(files) });
      if (response.status !== 201) throw new Error(`no workspace: ${response.status} ${await response.text()}`);
      return name;
    },
    start: async (workspace: string, flow: string, body: object = {}) => {
      const response = await post(`/api/workspaces/${workspace}/flows/${flow}/run`, body);
      if (response.status !== 202) throw new Error(`not started: ${response.status} ${await response.text()}`);
      return ((await response.json()) as { runId: string }).runId;
    },
  };
}
