import pg from 'pg';
import { parseJson } from '../../shared/exact-json.js';
import type { Log } from '../../shared/log.js';
import type { DbPressure } from './contract.js';
import { DatabaseBusy } from './errors.js';
import { ALIVE_MS, CONNECT_TIMEOUT_MS, type Pulse, watchedClient } from './watched-client.js';

export interface DbOptions {
  readonly url: string;
  /** A PEM bundle that the server's certificate must chain to; null leaves TLS to the URL's `sslmode`. */
  readonly ca: string | null;
  readonly poolSize: number;
  /** How long a query may wait for a connection. Default 15 s. */
  readonly queueTimeoutMs?: number;
  readonly log: Log;
}

/** A full pool is not a dead server: under load, queries wait longer than a connect may take. */
const QUEUE_TIMEOUT_MS = 15_000;

const INT8 = 20;
const INT8_ARRAY = 1016;
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802]);

/** int8 as bigint. Large integers in JSON keep every digit too; other types are as `pg` reads them. */
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
    return { waitedMs: oldest === undefined ? 0 : now - oldest.since, lastAnswerMsAgo: now - this.#pulse.at };
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
    const isQueue = error.message === QUEUE_TIMED_OUT && this.pressure().lastAnswerMsAgo < ALIVE_MS;
    return isQueue ? new DatabaseBusy(error) : error;
  }
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (release?: Error | boolean) => void,
) => void;

/** A pool that survives an outage of its server: a broken connection is dropped and logged, and throws no error. */
export function createPool(options: DbOptions): MeasuredPool {
  const pulse: Pulse = { at: Number.NEGATIVE_INFINITY };
  const config: pg.PoolConfig = {
    ...clientConfig(options),
    // @types/pg leaves out that the pool hands its settings to the constructor.
    Client: watchedClient(pulse) as unknown as new () => pg.ClientBase,
    connectionTimeoutMillis: options.queueTimeoutMs ?? QUEUE_TIMEOUT_MS,
    max: options.poolSize,
    idleTimeoutMillis: 30_000,
  };
  const pool = new MeasuredPool(config, pulse);
  pool.on('error', (error) => pool.ending || options.log.warn({ err: error }, 'an idle database connection failed'));
  // A client in use also emits an event for its loss. Ignore it, since the query rejects anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
