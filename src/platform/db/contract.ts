import type { Json } from '../../shared/json.js';
import type { Prisma, PrismaClient } from './generated/client.js';

/**
 * A row of a table, from Prisma's schema, as raw SQL returns it with each column aliased to its field. JSON columns are
 * `Json`, which keeps large integers exact. A statement or a view picks the fields that it reads.
 */
export type TableRow<Model extends Prisma.ModelName> = RowOf<Prisma.TypeMap['model'][Model]['payload']['scalars']>;

type RowOf<Model> = { readonly [Field in keyof Model]: SqlValue<Model[Field]> };
type SqlValue<Value> = Prisma.JsonValue extends Value
  ? Json
  : Value extends readonly (infer One)[]
    ? readonly One[]
    : Value;

export type RunRow = TableRow<'Run'>;
export type StepRow = TableRow<'Step'>;

/** The row inside JSON that Postgres builds: bigints and times are texts there. */
export type InJson<Row> = { readonly [Field in keyof Row]: JsonValueOf<Row[Field]> };
type JsonValueOf<Value> = Value extends bigint | Date ? string : Value;

/** A statement with its values. A `name` makes it a prepared statement. */
export interface SqlQuery {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Raw SQL on the pool or inside a transaction. Rows are as `pg` returns them, with bigint columns as bigint. */
export interface Sql {
  query<Row>(query: SqlQuery | string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A connection outside of the pool. Postgres releases its locks as soon as its process dies. */
export interface DbSession extends Sql {
  /** Resolves when the connection has ended, on either side. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** The load on this process's database connections. */
export interface DbPressure {
  /** How long the oldest waiter for a connection has waited; 0 when none waits. */
  readonly waitedMs: number;
  /** Time since the database last answered, on any connection. */
  readonly lastAnswerMsAgo: number;
}

/**
 * Postgres. Plain reads and writes of one table, off hot paths, use Prisma; everything else is named SQL, and a
 * transaction is SQL as a whole (docs/decisions/2026-11-30-prisma.md).
 */
export interface Db extends Sql {
  readonly prisma: PrismaClient;
  /**
   * Runs `work` in one transaction (read committed) and rolls back when it throws. Retries after a deadlock or a
   * serialization failure.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Starts LISTEN on a channel over the process's one listening connection. Returns a function that stops it. */
  listen(channel: string, onPayload: (payload: string) => void): () => void;
  notify(channel: string, payload: string): Promise<void>;
  pressure(): DbPressure;
  openSession(): Promise<DbSession>;
  /** False when the database does not answer within 2 s. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
