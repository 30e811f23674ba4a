import type pg from 'pg';
import { within } from '../../shared/deadline.js';
import type { Db, SqlQuery } from './contract.js';
import { createListener } from './listener.js';
import { clientConfig, createPool, type DbOptions } from './pool.js';
import { createPrisma } from './prisma.js';
import { openSession } from './session.js';
import { runTransaction, sqlOn } from './transaction.js';

const PING_TIMEOUT_MS = 2_000;

/**
 * Postgres for one process: a pool, Prisma on the same pool, and one listening connection. Nothing connects
 * before the first use; a server that is away gives `DatabaseUnavailable` within 2 s, and is found again when it is back.
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
