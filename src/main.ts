import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootstrapAccount, loadInstallKeys, renewBootstrapFile, writeBootstrapFile } from './accounts/index.js';
import { createActivities } from './activities/index.js';
import { createApp, createLog, serveApi } from './api/index.js';
import { startPushLoops } from './code-host/index.js';
import { type Config, parseConfig, readEnvironment } from './config/index.js';
import {
  applyMigrations,
  createDb,
  distDir,
  isConnectionLost,
  keepDatabaseClock,
  NewerDatabase,
  packageRoot,
  startBlockWatch,
  startWorkerHeartbeat,
} from './db/index.js';
import { createChecker } from './deploys/check-pool.js';
import type { Deps } from './deps.js';
import { freePort, makeDataFolder, StartError, startEmbedded } from './embedded/index.js';
import { startEngineLoops } from './engine/index.js';
import { startEvalLoop, startPushEvals } from './evals/index.js';
import { createModels } from './models/index.js';
import { createNet } from './net/index.js';
import { startNotifyLoop } from './notify/index.js';
import { startGitSweep } from './remotes/index.js';
import { startMirrorLoop } from './repo/index.js';
import { createSandbox } from './sandbox/index.js';
import { startScheduleLoops } from './schedules/index.js';
import { systemClock } from './shared/clock.js';
import { settlesWithin, untilAborted } from './shared/deadline.js';
import { armFailpoint, FAILPOINT_FLAG } from './shared/failpoint.js';
import { newId } from './shared/ids.js';
import type { Log } from './shared/log.js';
import { ProcessLife } from './shared/process-life.js';
import { errorMessage } from './shared/refusal.js';
import { createBlobStore, startBlobSweep } from './storage/index.js';
import {
  buildOf,
  connectTemporal,
  createWorkflows,
  installRuntime,
  keepWorker,
  type SwitchedWorkflows,
  switchWorkflows,
} from './temporal/index.js';
import { startTriggerLoops } from './triggers/index.js';

/**
 * Twenty for the hundred lanes of a worker and the API beside it: statements are short, and each releases its
 * connection.
 */
const POOL_SIZE = 20;
const TEMPORAL_PATIENCE_MS = 5_000;

/** How long each part may take to close, in ms; all together have 30 s. The worker lets model calls end for 20 s. */
const CLOSE_MS = { api: 5_000, worker: 26_000, loops: 5_000, servers: 25_000, other: 3_000 } as const;

/** Text for the person at the terminal. The log, on standard output, is for machines. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function start(life: ProcessLife): Promise<void> {
  const environment = readEnvironment();
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  const asked = parseConfig(environment, version);
  const log = createLog(asked.logLevel);
  life.log = log;
  armOrIgnore(asked.failpoint);
  installRuntime(log);

  // Resolve port 0 now, so that addresses given to runs and people have the real port.
  const port = asked.port === 0 && asked.role !== 'worker' ? await freePort() : asked.port;
  const config = await withServers({ ...asked, port }, { log, environment }, life);
  const { deps, switched, workerId } = await createDeps(config, log, life);
  const worker = config.role === 'api' ? null : await startWorker(deps, { switched, workerId }, life);
  const url = config.role === 'worker' ? null : await startApi(deps, life);
  await worker?.firstPoll();
  const seconds = process.uptime().toFixed(1);
  say(url ? `Signalbox ${version} is ready at ${url} (${seconds} s).` : `The worker is ready (${seconds} s).`);
}

/** Logs either way: failpoints are for tests only, and a variable that was left over has no effect. */
function armOrIgnore(failpoint: string | null): void {
  if (failpoint === null) return;
  if (!process.argv.includes(FAILPOINT_FLAG)) {
    say(`SERVICE_FAILPOINT=${failpoint} is ignored: it is for tests, and works only with ${FAILPOINT_FLAG}. Unset it.`);
    return;
  }
  armFailpoint(failpoint);
  say(`${FAILPOINT_FLAG}: THIS PROCESS KILLS ITSELF AT ${failpoint}. It is for tests only.`);
}

/** The configuration with every address: of external servers, or of those started here. */
async function withServers(
  config: Config,
  { log, environment }: { log: Log; environment: ReturnType<typeof readEnvironment> },
  life: ProcessLife,
): Promise<Config & { readonly databaseUrl: string; readonly temporal: { readonly address: string } }> {
  const { databaseUrl } = config;
  const { address } = config.temporal;
  if (databaseUrl !== null && address !== null) {
    await makeDataFolder(config.dataDir);
    return { ...config, databaseUrl, temporal: { ...config.temporal, address } };
  }
  const embedded = await startEmbedded({ config, log, progress: say, environment, signal: life.signal });
  life.add({ name: 'embedded servers', close: embedded.close, withinMs: CLOSE_MS.servers, kill: embedded.kill });
  return { ...config, databaseUrl: embedded.databaseUrl, temporal: { ...config.temporal, ...embedded.temporal } };
}

/** Logs what processes on several machines must share, and would otherwise each create silently. */
function sayWhatIsShared({ role, keys, s3, dataDir }: Config): void {
  if (role === 'all') return;
  if (keys === null)
    say(`SERVICE_KEYS is not set, so the install key is that of ${dataDir}: every process needs the same one.`);
  if (s3 === null)
    say(`SERVICE_S3_ENDPOINT is not set, so files are kept in ${dataDir}: every process needs that folder.`);
}

async function createDeps(config: Awaited<ReturnType<typeof withServers>>, log: Log, life: ProcessLife) {
  const ca = config.databaseCa === null ? null : await readAuthority(config.databaseCa);
  sayWhatIsShared(config);
  const applied = await migrate(config, ca);
  if (applied.length > 0) say(`Brought the database up to ${applied.at(-1)}.`);
  const db = createDb({ url: config.databaseUrl, ca, poolSize: POOL_SIZE, log });
  life.add({ name: 'database', close: db.close, withinMs: CLOSE_MS.other });
  const clock = await keepDatabaseClock(db, log, systemClock);
  life.add({ name: 'clock', close: async () => clock.close(), withinMs: CLOSE_MS.other });
  const workerId = newId();
  const threadPath = join(distDir, 'block-watch.js');
  const watch =
    config.role === 'api' ? null : startBlockWatch({ workerId, url: config.databaseUrl, ca, log, threadPath });
  if (watch) life.add({ name: 'block watch', close: watch.close, withinMs: CLOSE_MS.other });
  const net = createNet({ config });
  const [keys, connection, sandbox] = await Promise.all([
    loadInstallKeys(config),
    connectTemporal(config.temporal),
    createSandbox({ config, db, log, net, workerId }),
  ]);
  life.add({ name: 'sandbox', close: () => sandbox.close(), withinMs: CLOSE_MS.other });
  const switched = switchWorkflows(createWorkflows({ ...config.temporal, connection }), log);
  life.add({ name: 'temporal', close: () => switched.workflows.close(), withinMs: CLOSE_MS.other });
  // A process that is only a worker checks no deploys: its first check may wait for a thread.
  const ahead = config.role === 'worker' ? 0 : 1;
  const checker = createChecker({ workerPath: join(distDir, 'check-worker.js'), ahead });
  life.add({ name: 'checker', close: () => checker.close(), withinMs: CLOSE_MS.other });
  const models = createModels({ config, log, clock });
  const deps: Deps = {
    config,
    keys,
    log,
    workerId,
    workerBlocks: () => watch?.blocks() ?? 0,
    clock,
    db,
    workflows: switched.workflows,
    blobs: createBlobStore(config),
    models,
    net,
    sandbox,
    checker,
    startPushEvals,
  };
  return { deps, switched, workerId };
}

async function readAuthority(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartError(`${file} cannot be read (${errorMessage(cause)}): correct DATABASE_CA.`, { cause });
  });
}

async function migrate(
  { databaseUrl, version }: Pick<Config, 'version'> & { readonly databaseUrl: string },
  ca: string | null,
): Promise<readonly string[]> {
  try {
    return await applyMigrations(databaseUrl, ca, version);
  } catch (error) {
    const { host } = new URL(databaseUrl);
    if (error instanceof NewerDatabase) throw new StartError(`The database at ${host} ${error.message}.`);
    const what = isConnectionLost(error)
      ? `does not answer (${errorMessage(error)}): start it, or correct DATABASE_URL.`
      : `cannot be used (${errorMessage(error)}): fix that, or correct DATABASE_URL.`;
    throw new StartError(`The database at ${host} ${what}`, { cause: error });
  }
}

/** Runs the lanes of this process's runs. `firstPoll` resolves when it polls, or when Temporal is late. */
async function startWorker(
  deps: Deps,
  { switched, workerId }: { switched: SwitchedWorkflows; workerId: string },
  life: ProcessLife,
): Promise<{ firstPoll: () => Promise<void> }> {
  const { config, db, log, models, sandbox } = deps;
  const { namespace, taskQueue } = config.temporal;
  const target = { address: config.temporal.address ?? '', tls: config.temporal.tls };
  const evals = startEvalLoop(deps);
  const loops = [
    startEngineLoops(deps),
    startNotifyLoop(deps),
    startScheduleLoops(deps),
    startMirrorLoop(deps),
    startPushLoops(deps),
    startTriggerLoops(deps),
    { close: () => evals.end() },
  ];
  const closeLoops = () => Promise.all(loops.map((loop) => loop.close()));
  life.add({ name: 'loops', close: closeLoops, withinMs: CLOSE_MS.loops });
  const bundlePath = join(distDir, 'workflows.js');
  const version = `${config.version}+${await buildOf(bundlePath)}`;
  const entry = { id: workerId, version, sandbox: sandbox.driver, models: () => models.failing() };
  const seen = await startWorkerHeartbeat(db, entry, log);
  life.add({ name: 'worker register', close: seen.close, withinMs: CLOSE_MS.other });
  // On SIGTERM lanes stop at their next boundary, and another worker continues them.
  let isLeaving = false;
  const worker = keepWorker({
    target,
    namespace,
    taskQueue,
    activities: createActivities(deps, () => isLeaving),
    bundlePath,
    isOnlyBuild: () => seen.isOnlyBuild(),
    log,
    onConnected: (connection) => switched.use(createWorkflows({ connection, namespace, taskQueue })),
  });
  const leave = () => {
    // Calls cut by the shutdown are not counted as worker deaths. After a crash they are.
    if (!life.isFaulty) {
      isLeaving = true;
      // Do not wait: a database that does not answer must not block the shutdown.
      void seen.leave();
    }
    return worker.close();
  };
  life.add({ name: 'worker', close: leave, withinMs: CLOSE_MS.worker });
  return {
    async firstPoll() {
      if (await settlesWithin(untilAborted(worker.ready, life.signal), TEMPORAL_PATIENCE_MS)) return;
      say(`Temporal at ${target.address} does not answer yet: runs are accepted, and begin when it does.`);
    },
  };
}

async function startApi(deps: Deps, life: ProcessLife): Promise<string> {
  const { dataDir } = deps.config;
  const server = await serveApi(deps, createApp(deps));
  const endSweep = startGitSweep(deps);
  const endBlobSweep = startBlobSweep(deps);
  life.add({ name: 'sweep of git', close: async () => endSweep(), withinMs: CLOSE_MS.other });
  life.add({ name: 'sweep of blobs', close: async () => endBlobSweep(), withinMs: CLOSE_MS.other });
  life.add({ name: 'api', close: () => server.close(), withinMs: CLOSE_MS.api });
  const file = join(dataDir, 'bootstrap.json');
  const made = await bootstrapAccount(deps, async (account) => {
    await writeBootstrapFile(dataDir, { url: server.url, ...account });
  });
  if (made) say(`Created the account "${made.account}" of ${made.email}. Its admin key is in ${file}`);
  else {
    const found = await renewBootstrapFile(dataDir, server.url);
    if (found === 'whole') say(`The admin key is in ${file}`);
    if (found === 'damaged') say(`${file} is damaged, so its address was not renewed: correct it, or remove it.`);
  }
  return server.url;
}

/** One sentence if the operator can fix it; an internal error comes with its stack trace. */
function explain(error: unknown): string {
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  return isOurs ? (error.stack ?? error.message) : errorMessage(error);
}

const life = new ProcessLife(say);
life.run(() => start(life), explain);
