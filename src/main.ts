import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { bootstrapAccount, loadInstallKeys, renewBootstrapFile, writeBootstrapFile } from './accounts/index.js';
import { createActivities } from './activities/index.js';
import { createApp, createLog, serveApi } from './api/index.js';
import { startPushLoops } from './code-host/index.js';
import { type Config, parseConfig, readEnvironment } from './config/index.js';
import { applyMigrations, createDb, distDir, isConnectionLost, keepWorkerSeen, packageRoot } from './db/index.js';
import { createChecker } from './deploys/check-pool.js';
import type { Deps } from './deps.js';
import { freePort, makeDataFolder, StartError, startEmbedded } from './embedded/index.js';
import { startEngineLoops } from './engine/index.js';
import { startEvalLoop } from './evals/index.js';
import { createModels } from './models/index.js';
import { createNet } from './net/index.js';
import { startNotifyLoop } from './notify/index.js';
import { startGitSweep } from './remotes/index.js';
import { startMirrorLoop } from './repo/index.js';
import { createSandbox } from './sandbox/index.js';
import { startScheduleLoops } from './schedules/index.js';
import { systemClock } from './shared/clock.js';
import { armFailpoint, FAILPOINT_FLAG } from './shared/failpoint.js';
import { newId } from './shared/ids.js';
import type { Log } from './shared/log.js';
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

/** What ends the parts, in the order in which they began; they end in the reverse one. */
type Closers = { readonly name: string; readonly close: () => Promise<void> }[];

/** Twenty for the hundred lanes of a worker and the API beside it: statements are short, and each frees its own. */
const POOL_SIZE = 20;
const TEMPORAL_PATIENCE_MS = 5_000;

/** For the person who waits. The log, on standard output, is for machines. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function start(closers: Closers): Promise<Log> {
  const environment = readEnvironment();
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  const asked = parseConfig(environment, version);
  const log = createLog(asked.logLevel);
  armOrIgnore(asked.failpoint);
  installRuntime(log);

  // Port 0 is settled here, so that the addresses told to runs and people name the port that is listened on.
  const port = asked.port === 0 && asked.role !== 'worker' ? await freePort() : asked.port;
  const config = await withServers({ ...asked, port }, { log, environment }, closers);
  const { deps, switched, workerId } = await createDeps(config, log, closers);
  const worker = config.role === 'api' ? null : startWorker(deps, { switched, workerId }, closers);
  const url = config.role === 'worker' ? null : await startApi(deps, closers);
  if (worker) await worker;
  const seconds = process.uptime().toFixed(1);
  say(url ? `Signalbox ${version} is ready at ${url} (${seconds} s).` : `The worker is ready (${seconds} s).`);
  return log;
}

/** Loud either way: a process that kills itself is for tests only, and a variable that was left over does nothing. */
function armOrIgnore(failpoint: string | null): void {
  if (failpoint === null) return;
  if (!process.argv.includes(FAILPOINT_FLAG)) {
    say(`SERVICE_FAILPOINT=${failpoint} is ignored: it is for tests, and heard only with ${FAILPOINT_FLAG}. Unset it.`);
    return;
  }
  armFailpoint(failpoint);
  say(`${FAILPOINT_FLAG}: THIS PROCESS KILLS ITSELF AT ${failpoint}. It is for tests only.`);
}

/** The configuration with every address in it: of the servers named, or of those started here. */
async function withServers(
  config: Config,
  { log, environment }: { log: Log; environment: ReturnType<typeof readEnvironment> },
  closers: Closers,
): Promise<Config & { readonly databaseUrl: string; readonly temporal: { readonly address: string } }> {
  const { databaseUrl } = config;
  const { address } = config.temporal;
  if (databaseUrl !== null && address !== null) {
    await makeDataFolder(config.dataDir);
    return { ...config, databaseUrl, temporal: { ...config.temporal, address } };
  }
  const embedded = await startEmbedded({ config, log, progress: say, environment });
  closers.push({ name: 'embedded servers', close: embedded.close });
  return { ...config, databaseUrl: embedded.databaseUrl, temporal: { ...config.temporal, ...embedded.temporal } };
}

/** What processes on several machines must have in common, and would each make for itself without a word. */
function sayWhatIsShared({ role, keys, s3, dataDir }: Config): void {
  if (role === 'all') return;
  if (keys === null)
    say(`SERVICE_KEYS is not set, so the install key is that of ${dataDir}: every process needs the same one.`);
  if (s3 === null)
    say(`SERVICE_S3_ENDPOINT is not set, so files are kept in ${dataDir}: every process needs that folder.`);
}

async function createDeps(config: Awaited<ReturnType<typeof withServers>>, log: Log, closers: Closers) {
  const ca = config.databaseCa === null ? null : await readAuthority(config.databaseCa);
  sayWhatIsShared(config);
  const applied = await migrate(config.databaseUrl, ca);
  if (applied.length > 0) say(`Brought the database up to ${applied.at(-1)}.`);
  const db = createDb({ url: config.databaseUrl, ca, poolSize: POOL_SIZE, log });
  closers.push({ name: 'database', close: db.close });
  const workerId = newId();
  const net = createNet({ config });
  const [keys, connection, sandbox] = await Promise.all([
    loadInstallKeys(config),
    connectTemporal(config.temporal),
    createSandbox({ config, db, log, net, workerId }),
  ]);
  closers.push({ name: 'sandbox', close: () => sandbox.close() });
  const switched = switchWorkflows(createWorkflows({ ...config.temporal, connection }));
  closers.push({ name: 'temporal', close: () => switched.workflows.close() });
  // A worker alone checks no deploys: its first check may wait for a thread.
  const ahead = config.role === 'worker' ? 0 : 1;
  const checker = createChecker({ workerPath: join(distDir, 'check-worker.js'), ahead });
  closers.push({ name: 'checker', close: () => checker.close() });
  const models = createModels({ config, log, clock: systemClock });
  const deps: Deps = {
    config,
    keys,
    log,
    clock: systemClock,
    db,
    workflows: switched.workflows,
    blobs: createBlobStore(config),
    models,
    net,
    sandbox,
    checker,
  };
  return { deps, switched, workerId };
}

async function readAuthority(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartError(`${file} cannot be read (${errorMessage(cause)}): correct DATABASE_CA.`, { cause });
  });
}

async function migrate(url: string, ca: string | null): Promise<readonly string[]> {
  try {
    return await applyMigrations(url, ca);
  } catch (error) {
    const { host } = new URL(url);
    const what = isConnectionLost(error)
      ? `does not answer (${errorMessage(error)}): start it, or correct DATABASE_URL.`
      : `cannot be used (${errorMessage(error)}): mend that, or correct DATABASE_URL.`;
    throw new StartError(`The database at ${host} ${what}`, { cause: error });
  }
}

/** Runs the lanes of all runs that this process gets; settles when it polls, or when Temporal lets it wait too long. */
async function startWorker(
  deps: Deps,
  { switched, workerId }: { switched: SwitchedWorkflows; workerId: string },
  closers: Closers,
): Promise<void> {
  const { config, db, log, models, sandbox } = deps;
  const { namespace, taskQueue } = config.temporal;
  const target = { address: config.temporal.address ?? '', tls: config.temporal.tls };
  const loops = startEngineLoops(deps);
  const news = startNotifyLoop(deps);
  const triggers = startTriggerLoops(deps);
  const pushes = startPushLoops(deps);
  const mirrors = startMirrorLoop(deps);
  const evals = startEvalLoop(deps);
  const schedules = startScheduleLoops(deps);
  const bundlePath = join(distDir, 'workflows.js');
  const version = `${config.version}+${await buildOf(bundlePath)}`;
  const entry = { id: workerId, version, sandbox: sandbox.driver, models: () => models.failing() };
  const seen = await keepWorkerSeen(db, entry, log);
  // SIGTERM: lanes stop at their next border, and another worker goes on.
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
  closers.push({
    name: 'worker',
    async close() {
      isLeaving = true;
      await worker.close();
      await triggers.close();
      await pushes.close();
      await mirrors.close();
      await schedules.close();
      await loops.close();
      await news.close();
      await evals.end();
      await seen.close();
    },
  });
  if (!(await settlesWithin(worker.ready, TEMPORAL_PATIENCE_MS))) {
    say(`Temporal at ${target.address} does not answer yet: runs are accepted, and begin when it does.`);
  }
}

async function settlesWithin(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}

async function startApi(deps: Deps, closers: Closers): Promise<string> {
  const { dataDir } = deps.config;
  const server = await serveApi(deps, createApp(deps));
  const endSweep = startGitSweep(deps);
  const endBlobSweep = startBlobSweep(deps);
  closers.push({ name: 'sweep of git', close: async () => endSweep() });
  closers.push({ name: 'sweep of blobs', close: async () => endBlobSweep() });
  closers.push({ name: 'api', close: () => server.close() });
  const file = join(dataDir, 'bootstrap.json');
  const made = await bootstrapAccount(deps, async (account) => {
    await writeBootstrapFile(dataDir, { url: server.url, ...account });
  });
  if (made) say(`Made the account "${made.account}" of ${made.email}. Its admin key is in ${file}`);
  else {
    const found = await renewBootstrapFile(dataDir, server.url);
    if (found === 'whole') say(`The admin key is in ${file}`);
    if (found === 'damaged') say(`${file} is damaged, so its address was not renewed: correct it, or remove it.`);
  }
  return server.url;
}

async function stop(closers: Closers, log: Log | null): Promise<void> {
  for (const { name, close } of closers.splice(0).reverse()) {
    await close().catch((error: unknown) =>
      log?.error({ part: name, error: errorMessage(error) }, 'a part did not end well'),
    );
  }
}

/** One sentence where the person can do something about it; a fault of ours comes with its trace. */
function explain(error: unknown): string {
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  return isOurs ? (error.stack ?? error.message) : errorMessage(error);
}

async function main(): Promise<void> {
  const closers: Closers = [];
  let log: Log | null = null;
  let stopping = false;
  const leave = async (signal: NodeJS.Signals): Promise<void> => {
    // While it starts there is nothing to hand over, and the second time the person means it.
    if (stopping || log === null) process.exit(128 + constants.signals[signal]);
    stopping = true;
    say('Stopping; what runs now goes on at the next start. Once more to stop at once.');
    await stop(closers, log);
    process.exit(0);
  };
  // A terminal that closes hangs up: unheard, that would end us and leave the servers.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void leave(signal));
  try {
    log = await start(closers);
  } catch (error) {
    say(explain(error));
    await stop(closers, log);
    process.exit(1);
  }
}

void main();
