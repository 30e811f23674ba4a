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
 * How often that time is looked at. Each look comes after a turn of the event loop, so a process that is busy itself has
 * this many turns for what a connection takes, however long they are.
 */
const LOOKS = 6;

/** Waiting for a free connection of a busy pool is not a dead server: under load it takes its turn. */
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

/** When this pool heard of its database last, over whatever connection. */
interface Pulse {
  at: number;
}

/** How long the database may be silent while it is taken to be alive. */
export const ALIVE_MS = 1_500;

/** What only Postgres itself says: a socket is accepted by the kernel of a server that hangs, too. */
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
 * A client that gives up connecting once the database has said nothing to anybody for the time of a connect. Many at
 * once may each wait longer than that for a database that is only busy, and so is a process that is busy itself.
 */
function clientOn(pulse: Pulse): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      // The pool has one setting for its queue and for connecting, and hands it on: this is the other one.
      super({ ...config, connectionTimeoutMillis: 0 });
      // @types/pg leaves out the wire, which is where the signs are.
      const wire = (this as unknown as { readonly connection: Wire }).connection;
      for (const sign of SIGNS) {
        wire.on(sign, () => {
          pulse.at = performance.now();
        });
      }
      const stop = giveUpUnheard(pulse, () => wire.stream.destroy(new Error('timeout expired')));
      for (const end of ['readyForQuery', 'error', 'end']) wire.once(end, stop);
    }
  };
}

interface Wire extends EventEmitter {
  readonly stream: Socket;
}

/** Calls `giveUp` after a connect's time without a sign of life; answers how to call that off. */
function giveUpUnheard(pulse: Pulse, giveUp: () => void): () => void {
  let heard = pulse.at;
  let left = LOOKS;
  let timer: NodeJS.Timeout;
  let over = false;
  const look = () => {
    // What has come while this process was busy is read first.
    setImmediate(() => {
      if (over) return;
      left = pulse.at > heard ? LOOKS : left - 1;
      heard = pulse.at;
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

/** A pool that knows how long its callers wait, and tells a queue that is too long from a database that is down. */
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
  pool.on('error', (error) => pool.ending || options.log.warn({ err: error }, 'an idle database connection broke'));
  // A checked-out client reports its loss by an event too; its query rejects anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
