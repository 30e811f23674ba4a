import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { parseJson } from '../shared/exact-json.js';
import type { Log } from '../shared/log.js';
import type { DbPressure } from './contract.js';
import { DatabaseBusy } from './errors.js';

export interface DbOptions {
  readonly url: string;
  /** A PEM bundle that the server's certificate must chain to; null leaves TLS to the URL's `sslmode`. */
  readonly ca: string | null;
  readonly poolSize: number;
  /** How long a query may wait for a connection. Default 15 s. */
  readonly queueTimeoutMs?: number;
  readonly log: Log;
}

/** A dead Postgres must give an error within 2 s, so connecting may take no longer than this. */
const CONNECT_TIMEOUT_MS = 1_500;

/**
 * How often the connect timeout is checked. Each check comes after a turn of the event loop, so a busy process gets this
 * many turns for a connect, however long they are.
 */
const LOOKS = 6;

/** A full pool is not a dead server: under load, queries wait longer than a connect may take. */
const QUEUE_TIMEOUT_MS = 15_000;

const INT8 = 20;
const INT8_ARRAY = 1016;
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802]);

/** int8 as bigint, and large integers in JSON too, so that they keep every digit; the rest as `pg` reads it. */
export const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
    if (format !== 'binary' && oid === INT8) return BigInt;
    if (format !== 'binary' && oid === INT8_ARRAY) return parseBigintArray;
    if (format !== 'binary' && JSON_TYPES.has(oid)) return parseJson;
    return pg.types.getTypeParser(oid, format);
  },
};

function parseBigintArray(text: string): (bigint | null)[] {
  const inner = text.slice(1, -1);
  return inner === '' ? [] : inner.split(',').map((part) => (part === 'NULL' ? null : BigInt(part)));
}

/** The settings that every connection of this process shares. */
export function clientConfig({ url, ca }: Pick<DbOptions, 'url' | 'ca'>): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'signalbox',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // Prisma's adapter sends timestamps without a zone and means UTC.
    options: '-c TimeZone=UTC -c idle_in_transaction_session_timeout=60000',
    types: types as pg.CustomTypesConfig,
    ...(ca === null ? {} : { ssl: { ca, rejectUnauthorized: true } }),
  };
}

/** When the database last answered this pool, on any connection. */
interface Pulse {
  at: number;
}

/** How long the database may be silent before it counts as down. */
export const ALIVE_MS = 1_500;

/** Messages of Postgres itself. An accepted socket proves nothing: the kernel accepts for a hung server too. */
const SIGNS = [
  'sslconnect',
  'authenticationSASL',
  'authenticationSASLContinue',
  'authenticationCleartextPassword',
  'authenticationMD5Password',
  'authenticationOk',
  'readyForQuery',
];

/**
 * A client that gives up connecting once the database has answered none of the pool's connections for the connect
 * timeout. One connect may take longer than that while the database, or this process, is busy.
 */
function clientOn(pulse: Pulse): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      // pg-pool passes its queue timeout on as the connect timeout: disable it, watchConnectTimeout replaces it.
      super({ ...config, connectionTimeoutMillis: 0 });
      // @types/pg leaves out the wire, which is where the signs are.
      const wire = (this as unknown as { readonly connection: Wire }).connection;
      for (const sign of SIGNS) {
        wire.on(sign, () => {
          pulse.at = performance.now();
        });
      }
      const stop = watchConnectTimeout(pulse, () => wire.stream.destroy(new Error('timeout expired')));
      for (const end of ['readyForQuery', 'error', 'end']) wire.once(end, stop);
    }
  };
}

interface Wire extends EventEmitter {
  readonly stream: Socket;
}

/** Calls `giveUp` when the database is silent for the connect timeout. Returns a function that cancels this. */
function watchConnectTimeout(pulse: Pulse, giveUp: () => void): () => void {
  let lastSeen = pulse.at;
  let left = LOOKS;
  let timer: NodeJS.Timeout;
  let over = false;
  const look = () => {
    // First let the process read answers that arrived while it was busy.
    setImmediate(() => {
      if (over) return;
      left = pulse.at > lastSeen ? LOOKS : left - 1;
      lastSeen = pulse.at;
      if (left === 0) giveUp();
      else wait();
    });
  };
  const wait = () => {
    timer = setTimeout(look, CONNECT_TIMEOUT_MS / LOOKS);
    timer.unref();
  };
  wait();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

const QUEUE_TIMED_OUT = 'timeout exceeded when trying to connect';

/** A pool that measures how long callers wait, and distinguishes a long queue from a database that is down. */
class MeasuredPool extends pg.Pool {
  readonly #waits = new Set<{ readonly since: number }>();
  readonly #pulse: Pulse;

  constructor(config: pg.PoolConfig, pulse: Pulse) {
    super(config);
    this.#pulse = pulse;
  }

  pressure(): DbPressure {
    const now = performance.now();
    // A set keeps its order, and callers get their connections in turn.
    const [oldest] = this.#waits;
    return { waitedMs: oldest === undefined ? 0 : now - oldest.since, heardMsAgo: now - this.#pulse.at };
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (callback === undefined) {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (client === undefined ? reject(error) : resolve(client)));
      });
    }
    const wait = { since: performance.now() };
    this.#waits.add(wait);
    super.connect((error, client, release) => {
      this.#waits.delete(wait);
      callback(error && this.#explain(error), client, release);
    });
    return undefined;
  }

  #explain(error: Error): Error {
    const isQueue = error.message === QUEUE_TIMED_OUT && this.pressure().heardMsAgo < ALIVE_MS;
    return isQueue ? new DatabaseBusy(error) : error;
  }
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (release?: Error | boolean) => void,
) => void;

/** A pool that outlives its server: a connection that breaks is dropped and logged, never thrown. */
export function createPool(options: DbOptions): MeasuredPool {
  const pulse: Pulse = { at: Number.NEGATIVE_INFINITY };
  const config: pg.PoolConfig = {
    ...clientConfig(options),
    // @types/pg leaves out that the pool hands its settings to the constructor.
    Client: clientOn(pulse) as unknown as new () => pg.ClientBase,
    connectionTimeoutMillis: options.queueTimeoutMs ?? QUEUE_TIMEOUT_MS,
    max: options.poolSize,
    idleTimeoutMillis: 30_000,
  };
  const pool = new MeasuredPool(config, pulse);
  pool.on('error', (error) => pool.ending || options.log.warn({ err: error }, 'an idle database connection failed'));
  // A checked-out client reports its loss by an event too; its query rejects anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
