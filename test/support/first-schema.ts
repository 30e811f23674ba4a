import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrationsDir } from '../../src/platform/db/migrations-folder.js';
import { freshDatabase } from './postgres.js';

/**
 * A database as the first release would have left it: of its schema alone, with the rows of `from` in the columns that
 * it had, and known to the migrations as such.
 */
export async function asFirstRelease(from: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const made = await freshDatabase('template0');
  const [source, target] = [from, made.url].map((connectionString) => new pg.Client({ connectionString }));
  if (!source || !target) throw new Error('two clients were made');
  await Promise.all([source.connect(), target.connect()]);
  try {
    await target.query(await readFile(join(migrationsDir, '0001_init', 'migration.sql'), 'utf8'));
    // The order of the tables is not that of their references.
    await target.query(`SET session_replication_role = 'replica'`);
    for (const [table, columns] of await columnsOf(target)) await copy({ source, target, table, columns });
    await copyNumbers(source, target);
    await copyMigration(source, target);
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
  return made;
}

async function columnsOf(client: pg.Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `SELECT table_name AS table, array_agg(quote_ident(column_name) ORDER BY ordinal_position) AS columns
      FROM information_schema.columns WHERE table_schema = 'public' AND is_generated = 'NEVER' GROUP BY table_name`,
  );
  return new Map(rows.map(({ table, columns }) => [table, [...String(columns).replace(/[{}]/g, '').split(',')]]));
}

interface Copy {
  readonly source: pg.Client;
  readonly target: pg.Client;
  readonly table: string;
  readonly columns: readonly string[];
}

async function copy({ source, target, table, columns }: Copy): Promise<void> {
  const list = columns.join(', ');
  const { rows } = await source.query<{ row: string }>(
    `SELECT to_json(x)::text AS row FROM (SELECT ${list} FROM "${table}") x`,
  );
  for (const { row } of rows) {
    await target.query(
      `INSERT INTO "${table}" (${list}) OVERRIDING SYSTEM VALUE SELECT ${list} FROM json_populate_record(NULL::"${table}", $1)`,
      [row],
    );
  }
}

/** Where the sequences stand, or the next row would be given a number that there is. */
async function copyNumbers(source: pg.Client, target: pg.Client): Promise<void> {
  const { rows } = await target.query<{ name: string }>('SELECT sequencename AS name FROM pg_sequences');
  for (const { name } of rows) {
    const { rows: at } = await source.query<{ last: string }>(`SELECT last_value AS last FROM "${name}"`);
    await target.query('SELECT setval($1::regclass, $2)', [`"${name}"`, at[0]?.last]);
  }
}

/** The row that says the first migration was applied: without it the next ones would begin with that. */
async function copyMigration(source: pg.Client, target: pg.Client): Promise<void> {
  const { rows } = await source.query<Record<string, unknown>>(
    `SELECT * FROM _prisma_migrations WHERE migration_name = '0001_init'`,
  );
  await target.query(`CREATE TABLE _prisma_migrations (id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`);
  const [row] = rows;
  await target.query(
    `INSERT INTO _prisma_migrations SELECT * FROM json_populate_record(NULL::_prisma_migrations, $1)`,
    [JSON.stringify(row)],
  );
}
