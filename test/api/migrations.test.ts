import pg from 'pg';
import { expect, test } from 'vitest';
import { applyMigrations } from '../../src/db/index.js';
import { diffToSchema } from '../../src/db/migrate.js';
import { freshDatabase, testDatabase } from '../support/postgres.js';

test('a migrated database differs from the schema in nothing', async () => {
  expect(await diffToSchema(testDatabase())).toBe('');
});

test('a column that is missing is found by the same diff', async () => {
  const { url, drop } = await freshDatabase();
  await onDatabase(url, 'ALTER TABLE run DROP COLUMN summary');
  expect(await diffToSchema(url)).toContain('ADD COLUMN     "summary" TEXT');
  await drop();
});

test('two processes that start at once migrate once, and both go on', async () => {
  const { url, drop } = await freshDatabase('template0');
  const applied = await Promise.all([applyMigrations(url), applyMigrations(url), applyMigrations(url)]);
  const names = applied.flat();
  expect(names).toContain('0001_init');
  expect(new Set(names).size).toBe(names.length);
  expect(await diffToSchema(url)).toBe('');
  expect(await applyMigrations(url)).toEqual([]);
  await drop();
});

test('rows that change often leave room on their page', async () => {
  const rows = await onDatabase(testDatabase(), `SELECT relname FROM pg_class WHERE 'fillfactor=70' = ANY(reloptions)`);
  expect(rows.map((row) => row.relname).sort()).toEqual(['call', 'lane', 'run', 'step']);
});

test('counts of attempts never wait for the disk, and all else that commits does', async () => {
  const rows = await onDatabase(
    testDatabase(),
    `SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'`,
  );
  expect(rows).toEqual([{ relname: 'rate_limit' }]);
});

async function onDatabase(url: string, statement: string): Promise<{ relname: string }[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<{ relname: string }>(statement)).rows;
  } finally {
    await client.end();
  }
}

test('the migrations table is the one that `prisma migrate deploy` reads', async () => {
  const client = new pg.Client({ connectionString: testDatabase() });
  await client.connect();
  const { rows } = await client.query('SELECT migration_name, finished_at IS NOT NULL AS done FROM _prisma_migrations');
  await client.end();
  expect(rows).toContainEqual({ migration_name: '0001_init', done: true });
});
