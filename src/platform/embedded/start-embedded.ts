import { settlesWithin, sleep, untilAborted } from '../../shared/deadline.js';
import type { Log } from '../../shared/log.js';
import type { Config } from '../config/index.js';
import type { Child } from './child.js';
import { type DataFolder, dataFolder, prepareDataFolder } from './data-folder.js';
import { freePort } from './free-port.js';
import { acquireLock } from './instance-lock.js';
import { startPostgres } from './postgres.js';
import { endOrphans } from './process-records.js';
import { PortTaken } from './start-error.js';
import { cacheBinFolder, findTemporal } from './temporal-binary.js';
import { startTemporal } from './temporal-server.js';
import { readTemporalSettings } from './temporal-settings.js';

const FIRST_WAIT_MS = 200;

const LONGEST_WAIT_MS = 15_000;

/** A server that lived this long restarts without backoff. */
const STEADY_MS = 60_000;

export interface EmbeddedOptions {
  readonly config: Pick<Config, 'dataDir' | 'host' | 'port' | 'databaseUrl' | 'temporal'>;
  readonly log: Log;
  /** Prints a line for the user. */
  readonly progress: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts the start and stops what has been started. */
  readonly signal?: AbortSignal | undefined;
}

/** The embedded servers. For those that the configuration names, only their addresses. */
export interface Embedded {
  readonly databaseUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
  /**
   * Stops the embedded servers. When it resolves, no process of ours is left, and the folder is free for the next
   * start.
   */
  close(): Promise<void>;
  /** Kills them at once, for servers that do not stop. */
  kill(): Promise<void>;
}

interface Part<T> {
  readonly value: T;
  readonly kept: KeptServer | null;
}

const PORT_TRIES = 3;

const FAIL_PATIENCE_MS = 5_000;

/**
 * Starts Postgres and Temporal in the data folder, unless the configuration names other ones. Holds the folder's lock,
 * ends servers that a killed service left behind, and restarts a server that dies. Throws `StartError`.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { config, log, progress } = options;
  const folder = dataFolder(config.dataDir);
  await prepareDataFolder(folder);
  const lock = acquireLock(folder.lock, `http://${config.host}:${config.port}`);
  try {
    const orphans = await endOrphans(folder.processes);
    if (orphans.length > 0) progress(`Ended what the last start left behind: ${orphans.join(' and ')}.`);
    const [postgres, temporal] = await both(
      postgresPart(options, folder),
      temporalPart(options, folder),
      options.signal,
    );
    const kept = [postgres.kept, temporal.kept].filter((each) => each !== null);
    return {
      databaseUrl: postgres.value,
      temporal: temporal.value,
      async close() {
        await Promise.all(kept.map((each) => each.close()));
        lock.release();
        log.debug({}, 'the embedded servers ended');
      },
      async kill() {
        await Promise.all(kept.map((each) => each.kill()));
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function postgresPart(
  { config, log, progress, signal }: EmbeddedOptions,
  folder: DataFolder,
): Promise<Part<string>> {
  if (config.databaseUrl !== null) return { value: config.databaseUrl, kept: null };
  progress('Starting Postgres …');
  const start = (port: number) => startPostgres(folder, port, { signal });
  const { server, port } = await onFreePort(0, start);
  return { value: server.url, kept: superviseServer('postgres', server, () => start(port), log) };
}

async function temporalPart(options: EmbeddedOptions, folder: DataFolder): Promise<Part<Embedded['temporal']>> {
  const { config, log, progress, environment, signal } = options;
  const { address, namespace } = config.temporal;
  if (address !== null) return { value: { address, namespace }, kept: null };
  const settings = await readTemporalSettings();
  const { version } = settings;
  const binary = await findTemporal({ version, binFolder: cacheBinFolder(environment), environment, progress });
  progress('Starting Temporal …');
  const start = (port: number) => startTemporal({ binary, settings, folder, port, signal });
  const { server, port } = await onFreePort(settings.port, start);
  const value = { address: server.address, namespace: settings.namespace };
  return { value, kept: superviseServer('temporal', server, () => start(port), log) };
}

/** Starts on the wanted port; without one, on a free port, with another try when that is taken meanwhile. */
async function onFreePort<T>(
  wanted: number,
  start: (port: number) => Promise<T>,
): Promise<{ server: T; port: number }> {
  for (let tries = 1; ; tries += 1) {
    const port = wanted === 0 ? await freePort() : wanted;
    try {
      return { server: await start(port), port };
    } catch (error) {
      if (!(error instanceof PortTaken) || wanted !== 0 || tries === PORT_TRIES) throw error;
    }
  }
}

/**
 * Starts both in parallel. When one fails, the start fails at once, and the other is stopped as soon as it has started.
 */
async function both<A, B>(
  first: Promise<Part<A>>,
  second: Promise<Part<B>>,
  signal?: AbortSignal,
): Promise<[Part<A>, Part<B>]> {
  try {
    return await untilAborted(Promise.all([first, second]), signal);
  } catch (error) {
    const ends = [first, second].map((part) => part.then(({ kept }) => kept?.close()).catch(() => undefined));
    // Do not wait for the build of a program: it takes minutes, and it ends with the process.
    await settlesWithin(Promise.all(ends), FAIL_PATIENCE_MS);
    throw error;
  }
}

interface Server {
  readonly child: Child;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

interface KeptServer {
  /** Stops the server and does not restart it. */
  close(): Promise<void>;
  /** Kills the server at once, for one that does not stop. */
  kill(): Promise<void>;
}

/** Restarts a server on the same port whenever it exits, with a growing delay when it exits soon after its start. */
function superviseServer(name: string, first: Server, restart: () => Promise<Server>, log: Log): KeptServer {
  let server: Server = first;
  const closing = new AbortController();

  async function watch(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!closing.signal.aborted) {
      const began = Date.now();
      const how = await server.child.exited;
      if (closing.signal.aborted) return;
      if (Date.now() - began > STEADY_MS) wait = FIRST_WAIT_MS;
      log.error({ server: name, how, restartInMs: wait }, `${name} ended by itself and is started again`);
      wait = await restartServer(wait);
    }
  }

  async function restartServer(wait: number): Promise<number> {
    for (let next = wait; ; next = Math.min(next * 2, LONGEST_WAIT_MS)) {
      await sleep(next, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return next;
      try {
        server = await restart();
        log.info({ server: name }, `${name} restarted`);
        return Math.min(next * 2, LONGEST_WAIT_MS);
      } catch (error) {
        log.error({ server: name, err: error }, `failed to restart ${name}`);
      }
    }
  }

  const watching = watch();
  return {
    async close() {
      closing.abort();
      await server.stop();
      // A restart that was in progress when `close` was called has created a new server.
      await watching;
      await server.stop();
    },
    async kill() {
      closing.abort();
      await server.kill();
    },
  };
}
