import type { PrismaClient } from './generated/client.js';

/** A statement with its values; `name` makes it a prepared one. */
export interface SqlQuery {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Raw SQL on the pool or inside a transaction. Rows are what `pg` gives: bigint columns come as bigint. */
export interface Sql {
  query<Row>(query: SqlQuery | string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A connection outside of the pool, for as long as it holds: what it locks is free the moment its process has died. */
export interface DbSession extends Sql {
  /** Settles when the connection is gone, whoever ended it. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** How it stands between this process and its database. */
export interface DbPressure {
  /** For how long the first of those who wait for a connection has waited; 0 when none waits. */
  readonly waitedMs: number;
  /** Since the database last said anything, over whatever connection. */
  readonly heardMsAgo: number;
}

/**
 * Postgres. Verbs that lock or compare-and-set speak SQL on one transaction; plain reads and writes use Prisma.
 */
export interface Db extends Sql {
  readonly prisma: PrismaClient;
  /** Runs `work` in one transaction (read committed); rolls back when it throws. Retries a deadlock or a serialization failure. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** LISTEN on a channel over the process's one listening connection; answers how to stop. */
  listen(channel: string, onPayload: (payload: string) => void): () => void;
  notify(channel: string, payload: string): Promise<void>;
  pressure(): DbPressure;
  openSession(): Promise<DbSession>;
  /** False when the database does not answer within 2 s. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
