import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { sleep } from '../../shared/deadline.js';
import { errorMessage } from '../../shared/refusal.js';
import { isConnectionLost, isContention, isLockTimeout, isNotReady } from './errors.js';
import { type Migration, readMigrations } from './migrations-folder.js';
import { clientConfig } from './pool.js';

/** The key of the advisory lock: "signal" in ASCII. An arbitrary number that must never change. */
const MIGRATION_LOCK = '126909213401452';

/** How long a migration waits for a lock. Meanwhile all statements of other sessions on that table wait behind it. */
const LOCK_TIMEOUT = '3s';
/** How often a migration is tried that other sessions keep from its locks: for a minute in all, and two at most. */
const MAX_TRIES = 20;
const RETRY_MS = 3_000;
/** How long a start waits for a database that is there and not ready, and for one answer of it. */
const CONNECT_MS = 30_000;
const ANSWER_MS = 10_000;
const CONNECT_RETRY_MS = 500;
/** How often a process that waits for another one to migrate asks for its turn. */
const TURN_MS = 200;

export interface MigrateOptions {
  readonly ca?: string | null;
  /** The version of this build, which is recorded with each migration that it applies. */
  readonly version?: string;
  /** Called with a sentence: for each applied migration whose file has changed since, and for one that has to wait. */
  readonly warn?: (text: string) => void;
  /** Default: the migrations beside the schema. */
  readonly migrations?: readonly Migration[];
}

/**
 * Brings the database to the newest migration and returns the names of those that it applied. Processes that start at
 * the same time take turns by an advisory lock. `prisma migrate deploy` reads and writes the table `_prisma_migrations`
 * too. Throws `NewerDatabase` when a newer build has migrated the database, since this build would misread its rows,
 * and `FailedMigration` when a migration fails or was left half done.
 */
export async function applyMigrations(url: string, options: MigrateOptions = {}): Promise<readonly string[]> {
  const { ca = null, version = 'of an unknown version', warn = () => undefined } = options;
  const client = await connect(clientConfig({ url, ca }), warn);
  try {
    await takeTurn(client);
    const migrations = options.migrations ?? (await readMigrations());
    const recorded = await recordedMigrations(client);
    const known = migrations.map(({ name }) => name);
    await refuseNewer(client, { known, done: [...recorded.keys()], version });
    for (const row of recorded.values()) refuseHalfDone(row);
    for (const { name, script } of migrations) {
      if (isEdited(script, recorded.get(name)?.checksums))
        warn(`The migration ${name} was edited after it was applied.`);
    }
    const pending = migrations.filter(({ name }) => !recorded.has(name));
    if (recorded.size === 0) await client.query(TABLE);
    const applied: string[] = [];
    for (const migration of pending) {
      applied.push(migration.name);
      await applyMigration(client, { ...migration, noteVersion: noteVersion(applied, version) }, warn);
    }
    return applied;
  } finally {
    await client.end();
  }
}

/**
 * Connects. A database that still starts, recovers, is out of connections or is slow on a busy machine is tried again
 * for `CONNECT_MS`. Any other failure, such as a refused connection or a wrong password, is thrown at once.
 */
async function connect(config: pg.ClientConfig, warn: (text: string) => void): Promise<pg.Client> {
  const deadline = performance.now() + CONNECT_MS;
  for (let isFirst = true; ; isFirst = false) {
    const client = new pg.Client({ ...config, connectionTimeoutMillis: ANSWER_MS });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      void client.end().catch(() => undefined);
      if (!isNotReady(error) || performance.now() > deadline) throw error;
      if (isFirst) warn(`The database is not ready yet (${errorMessage(error)}): waiting for it.`);
    }
    await sleep(CONNECT_RETRY_MS);
  }
}

/**
 * Waits for its turn. The lock belongs to this session: a process that dies while it migrates frees it. A session that
 * waited inside of a statement would keep a snapshot, and `CREATE INDEX CONCURRENTLY` of the other process waits for those.
 */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1::bigint) AS taken', [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.taken) return;
    await sleep(TURN_MS);
  }
}

/** As Prisma creates it. */
const TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

interface Recorded {
  readonly name: string;
  readonly finished: boolean;
  readonly checksums: readonly string[];
  readonly logs: string | null;
}

/** The migrations that the database records and that were not rolled back. */
async function recordedMigrations(client: pg.Client): Promise<ReadonlyMap<string, Recorded>> {
  if (!(await hasTable(client, '_prisma_migrations'))) return new Map();
  const { rows } = await client.query<Recorded>(
    `SELECT migration_name AS name, bool_and(finished_at IS NOT NULL) AS finished, max(logs) AS logs,
        array_agg(checksum::text) AS checksums
      FROM _prisma_migrations WHERE rolled_back_at IS NULL GROUP BY migration_name`,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** True if the script differs from the recorded one. As in Prisma, line ends do not matter. */
function isEdited(script: string, checksums: readonly string[] | undefined): boolean {
  if (checksums === undefined) return false;
  const lines = script.replaceAll('\r\n', '\n');
  const own = [script, lines, lines.replaceAll('\n', '\r\n')].map(checksumOf);
  return !checksums.some((each) => own.includes(each));
}

function checksumOf(script: string): string {
  return createHash('sha256').update(script).digest('hex');
}

/**
 * A migration failed, or an earlier start left one half done. The message is a predicate whose subject is the database.
 */
export class FailedMigration extends Error {
  override readonly name = 'FailedMigration';
}

/** A process died in a migration that was not one transaction: how much of it took effect is unknown. */
function refuseHalfDone({ name, finished, logs }: Recorded): void {
  if (finished) return;
  const why = logs ? ` (${logs.split('\n', 1)[0]})` : '';
  throw new FailedMigration(
    `has the migration ${name} half done${why}: restore the backup from before the upgrade; or undo what prisma/migrations/${name}/migration.sql did, set rolled_back_at = now() in its row of _prisma_migrations, and start again`,
  );
}

interface Pending extends Migration {
  /** The statement that records the version of this build. */
  readonly noteVersion: string;
}

/**
 * Applies the migration and records it, in one transaction. Workers of the version before and a `pg_dump` hold locks too:
 * a migration that gets none in time, or loses a deadlock, is tried again.
 */
async function applyMigration(client: pg.Client, migration: Pending, warn: (text: string) => void): Promise<void> {
  const { name, script } = migration;
  for (let tries = 1; ; tries += 1) {
    try {
      // Postgres makes one transaction of a message: the migration and its record are there together, or neither is.
      return void (await client.query(
        `SET LOCAL lock_timeout = '${LOCK_TIMEOUT}';\n${script}\n;${recordOf(migration)}`,
      ));
    } catch (error) {
      if (isOutsideOnly(error)) return applyOutside(client, migration);
      if (isConnectionLost(error)) throw error;
      if (!isKept(error) || tries === MAX_TRIES) throw await failed(client, migration, error);
      if (tries === 1) warn(`The migration ${name} waits for other sessions of the database: ${errorMessage(error)}.`);
      await sleep(RETRY_MS * Math.random());
    }
  }
}

/** Other sessions kept the migration from its locks: nothing of it took effect. */
function isKept(error: unknown): boolean {
  return isContention(error) || isLockTimeout(error);
}

function recordOf({ name, script, noteVersion }: Pending): string {
  return `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
    VALUES ('${randomUUID()}', '${checksumOf(script)}', ${pg.escapeLiteral(name)}, now(), clock_timestamp(), 1);
    ${noteVersion}`;
}

async function failed(client: pg.Client, migration: Migration, error: unknown): Promise<FailedMigration> {
  const reason = errorMessage(error);
  await recordFailure(client, migration, reason);
  const remedy = isKept(error)
    ? 'end what holds its locks, such as a backup or a long transaction, and start again'
    : 'correct what this names and start again, or start the version from before the upgrade';
  return new FailedMigration(`is as before the migration ${migration.name}, which failed (${reason}): ${remedy}`, {
    cause: error,
  });
}

/** SQLSTATE 25001: a statement such as `CREATE INDEX CONCURRENTLY` cannot run inside a transaction. */
function isOutsideOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '25001';
}

/** The row says that it started, so that a process that dies in it leaves a sign. */
async function applyOutside(client: pg.Client, { name, script, noteVersion }: Pending): Promise<void> {
  const id = randomUUID();
  await client.query('INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)', [
    id,
    checksumOf(script),
    name,
  ]);
  try {
    await client.query(script);
  } catch (error) {
    const logs = errorMessage(error);
    // Several statements in one message are one transaction: nothing of it took effect.
    if (isOutsideOnly(error)) {
      await client.query('UPDATE _prisma_migrations SET logs = $2, rolled_back_at = now() WHERE id = $1', [id, logs]);
      throw new FailedMigration(
        `is as before the migration ${name}, which has other statements beside one that cannot run inside a transaction (${logs}): start the version from before the upgrade, and give that statement a migration of its own`,
        { cause: error },
      );
    }
    await client.query('UPDATE _prisma_migrations SET logs = $2 WHERE id = $1', [id, logs]);
    refuseHalfDone({ name, finished: false, checksums: [], logs });
  }
  await client.query(
    `UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1 WHERE id = '${id}';\n${noteVersion}`,
  );
}

/** Records the failure for operators. The next start retries a migration that was rolled back. */
async function recordFailure(client: pg.Client, { name, script }: Migration, logs: string): Promise<void> {
  await client
    .query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, logs, rolled_back_at) VALUES ($1, $2, $3, $4, now())`,
      [randomUUID(), checksumOf(script), name, logs],
    )
    .catch(() => undefined);
}

/** The database was migrated by a newer build. */
export class NewerDatabase extends Error {
  override readonly name = 'NewerDatabase';
}

interface Builds {
  readonly known: readonly string[];
  readonly done: readonly string[];
  readonly version: string;
}

async function refuseNewer(client: pg.Client, { known, done, version }: Builds): Promise<void> {
  const newest = done
    .filter((name) => !known.includes(name))
    .sort()
    .at(-1);
  if (newest === undefined) return;
  const { rows } = (await hasTable(client, 'schema_version'))
    ? await client.query<{ version: string }>('SELECT version FROM schema_version WHERE migration = $1', [newest])
    : { rows: [] };
  const theirs = `Signalbox ${rows[0]?.version ?? 'of a newer version'}`;
  throw new NewerDatabase(
    `was migrated by ${theirs} (to ${newest}), and this is Signalbox ${version} (up to ${known.at(-1)}): start ${theirs} or newer, or restore the backup from before the upgrade`,
  );
}

/** The first migrations come before the table: the one that makes it records the version of all so far. */
function noteVersion(names: readonly string[], version: string): string {
  const all = names.map(pg.escapeLiteral).join(', ');
  return `DO $note$ BEGIN IF to_regclass('schema_version') IS NOT NULL THEN
    INSERT INTO schema_version (migration, version) SELECT unnest(ARRAY[${all}]), ${pg.escapeLiteral(version)} ON CONFLICT (migration) DO NOTHING;
  END IF; END $note$`;
}

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [name]);
  return rows[0]?.found === true;
}
