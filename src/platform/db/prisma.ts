import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import type { Log } from '../../shared/log.js';
import { toDatabaseError } from './errors.js';
import { PrismaClient } from './generated/client.js';

/** Lists of changing length make ever new statements; beyond this many the rest stay unprepared. */
const MAX_PREPARED = 1_000;

/** Prisma on the pool of everything else, each statement prepared once a connection. */
export function createPrisma(pool: pg.Pool, log: Log): PrismaClient {
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
  // The extension changes no operation's type, only what a lost connection throws.
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
