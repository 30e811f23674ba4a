import type pg from 'pg';
import { sleep } from '../../shared/deadline.js';
import type { Sql, SqlQuery } from './contract.js';
import { isConnectionLost, isContention, OutcomeUnknown, toDatabaseError } from './errors.js';

const MAX_TRIES = 3;

/** Raw SQL on a pool or a connection. */
export function sqlOn(target: pg.Pool | pg.ClientBase): Sql {
  return {
    async query<Row>(query: SqlQuery | string, values?: readonly unknown[]): Promise<Row[]> {
      const { text, name, values: own }: SqlQuery = typeof query === 'string' ? { text: query } : query;
      const config = { text, values: [...(values ?? own ?? [])], ...(name === undefined ? {} : { name }) };
      try {
        return (await target.query(config)).rows as Row[];
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
  };
}

/** Runs one transaction at read committed. Retries up to three times after a deadlock or a serialization failure. */
export async function runTransaction<T>(pool: pg.Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt(pool, work);
    } catch (error) {
      if (!isContention(error) || tries === MAX_TRIES) throw toDatabaseError(error);
      await sleep(Math.random() * 20 * tries);
    }
  }
}

async function attempt<T>(pool: pg.Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(sqlOn(client));
    await commit(client);
    return result;
  } catch (error) {
    broken = await rollBack(client);
    throw error;
  } finally {
    // Destroy a connection that cannot even roll back, so that no other caller gets it.
    client.release(broken);
  }
}

async function commit(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('COMMIT');
  } catch (error) {
    throw isConnectionLost(error) ? new OutcomeUnknown(error) : error;
  }
}

async function rollBack(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
