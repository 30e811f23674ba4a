import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { within } from '../../shared/deadline.js';
import type { Log } from '../../shared/log.js';
import type { Db, DbSession, SqlQuery } from './contract.js';
import { toDatabaseError } from './errors.js';
import { PrismaClient } from './generated/client.js';
import { createListener } from './listener.js';
import { clientConfig, createPool, type DbOptions } from './pool.js';
import { runTransaction, sqlOn } from './transaction.js';

/** Prisma generates a new statement for each length of a list. Statements beyond this number are not prepared. */
const MAX_PREPARED = 1_000;

const PING_TIMEOUT_MS = 2_000;

/**
 * Postgres for one process: a pool, Prisma on the same pool, and one listening connection. Connects at the first use.
 * An unreachable server causes `DatabaseUnavailable` within 2 s; the pool connects again once the server is back.
 */
export function createDb(options: DbOptions): Db {
  const pool = createPool(options);
  const prisma = createPrisma(pool, options.log);
  const listener = createListener(clientConfig(options), options.log);
  const sql = sqlOn(pool);
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await listener.close();
    await prisma.$disconnect();
    await pool.end();
  }

  return {
    prisma,
    query: <Row>(query: SqlQuery | string, values?: readonly unknown[]) => sql.query<Row>(query, values),
    transaction: (work) => runTransaction(pool, work),
    listen: listener.listen,
    async notify(channel, payload) {
      await sql.query({ name: 'notify', text: 'SELECT pg_notify($1, $2)', values: [channel, payload] });
    },
    pressure: () => pool.pressure(),
    openSession: () => openSession(clientConfig(options)),
    ping: () => ping(pool),
    close: () => (closing ??= close()),
  };
}

async function ping(pool: pg.Pool): Promise<boolean> {
  const answered = pool.query('SELECT 1').then(
    () => true,
    () => false,
  );
  return within(answered, PING_TIMEOUT_MS, () => false);
}

async function openSession(config: pg.ClientConfig): Promise<DbSession> {
  const client = new pg.Client({ ...config, application_name: 'signalbox-session' });
  const ended = new Promise<void>((resolve) => {
    client.once('end', resolve);
    client.once('error', () => resolve());
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    client.end().catch(() => undefined);
    throw toDatabaseError(error);
  }
  return {
    ...sqlOn(client),
    ended,
    close: () => client.end().catch(() => undefined),
  };
}

/** Prisma on the shared pool. Each statement is prepared once per connection. */
function createPrisma(pool: pg.Pool, log: Log): PrismaClient {
  const onError = (error: Error) => log.warn({ err: error }, 'a Prisma database connection failed');
  const adapter = new PrismaPg(pool, {
    statementNameGenerator: createNames(),
    onConnectionError: onError,
  });
  const client = new PrismaClient({ adapter, errorFormat: 'minimal' }).$extends({
    query: {
      async $allOperations({ args, query }) {
        try {
          return await query(args);
        } catch (error) {
          throw toDatabaseError(error);
        }
      },
    },
  });
  // The extension changes no operation's type, only the error of a lost connection.
  return client as unknown as PrismaClient;
}

function createNames(): (query: { readonly sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_PREPARED) return '';
    const name = `prisma_${names.size}`;
    names.set(sql, name);
    return name;
  };
}
