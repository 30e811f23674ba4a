import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLog } from './api/index.js';
import { createChecker } from './content/deploys/check-pool.js';
import type { Deps } from './deps.js';
import { startPushEvals } from './evals/index.js';
import { createModels } from './models/index.js';
import { loadInstallKeys } from './people/index.js';
import { type Config, parseConfig, readEnvironment } from './platform/config/index.js';
import {
  applyMigrations,
  createDb,
  distDir,
  FailedMigration,
  isConnectionLost,
  keepDatabaseClock,
  NewerDatabase,
  packageRoot,
  startBlockWatch,
} from './platform/db/index.js';
import { freePort, makeDataFolder, StartError, startEmbedded } from './platform/embedded/index.js';
import { createNet } from './platform/net/index.js';
import { createBlobStore } from './platform/storage/index.js';
import { connectTemporal, createWorkflows, installRuntime, switchWorkflows } from './platform/temporal/index.js';
import { createSandbox } from './sandbox/index.js';
import { systemClock } from './shared/clock.js';
import { CLOSE_MS } from './shared/closers.js';
import { armIfAllowed } from './shared/failpoint.js';
import { newId } from './shared/ids.js';
import type { Log } from './shared/log.js';
import { ProcessLife } from './shared/process-life.js';
import { errorMessage } from './shared/refusal.js';
import { localStartsOf, startApi, startWorker } from './start-roles.js';

/**
 * Twenty for the hundred lanes of a worker and the API beside it: statements are short, and each releases its
 * connection.
 */
const POOL_SIZE = 20;

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
  armIfAllowed(asked.failpoint, say);
  if (asked.role !== 'api') await installRuntime(log);

  // Resolve port 0 now, so that addresses given to runs and people have the real port.
  const port = asked.port === 0 && asked.role !== 'worker' ? await freePort() : asked.port;
  const config = await withServers({ ...asked, port }, { log, environment }, life);
  const { deps, switched } = await createDeps(config, log, life);
  const worker = config.role === 'api' ? null : await startWorker(deps, switched, life);
  const url = config.role === 'worker' ? null : await startApi(deps, life);
  await worker?.firstPoll();
  const seconds = process.uptime().toFixed(1);
  say(url ? `Signalbox ${version} is ready at ${url} (${seconds} s).` : `The worker is ready (${seconds} s).`);
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
function reportLocalFiles({ role, keys, s3, dataDir }: Config): void {
  if (role === 'all') return;
  if (keys === null)
    say(`SERVICE_KEYS is not set, so the install key is that of ${dataDir}: every process needs the same one.`);
  if (s3 === null)
    say(`SERVICE_S3_ENDPOINT is not set, so files are kept in ${dataDir}: every process needs that folder.`);
}

async function createDeps(config: Awaited<ReturnType<typeof withServers>>, log: Log, life: ProcessLife) {
  const ca = config.databaseCa === null ? null : await readAuthority(config.databaseCa);
  reportLocalFiles(config);
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
  const localStarts = config.role === 'api' ? await localStartsOf({ config, db }) : undefined;
  const switched = switchWorkflows(
    createWorkflows({ ...config.temporal, connection, ...(localStarts && { localStarts }) }),
    log,
  );
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
  return { deps, switched };
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
    return await applyMigrations(databaseUrl, { ca, version, warn: say });
  } catch (error) {
    const { host } = new URL(databaseUrl);
    if (error instanceof NewerDatabase || error instanceof FailedMigration)
      throw new StartError(`The database at ${host} ${error.message}.`, { cause: error });
    const what = isConnectionLost(error)
      ? `does not answer (${errorMessage(error)}): start it, or correct DATABASE_URL.`
      : `cannot be used (${errorMessage(error)}): fix that, or correct DATABASE_URL.`;
    throw new StartError(`The database at ${host} ${what}`, { cause: error });
  }
}

/** One sentence if the operator can fix it; an internal error comes with its stack trace. */
function explain(error: unknown): string {
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  return isOurs ? (error.stack ?? error.message) : errorMessage(error);
}

const life = new ProcessLife(say);
life.run(() => start(life), explain);
