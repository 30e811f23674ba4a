import pg from 'pg';
import { expect, test } from 'vitest';
import { applyMigrations, NewerDatabase } from '../../src/db/index.js';
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

test('an older build on a database that a newer one has migrated refuses to start, and names both versions', async () => {
  const { url, drop } = await freshDatabase('template0');
  await applyMigrations(url, null, '1.2.0');
  const newer = `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at)
    VALUES ('x', 'x', '9999_of_tomorrow', now(), now())`;
  await onDatabase(url, newer);
  const start = () => applyMigrations(url, null, '1.2.0');
  await expect(start()).rejects.toBeInstanceOf(NewerDatabase);
  await expect(start()).rejects.toThrow(/migrated by Signalbox of a newer version \(to 9999_of_tomorrow\)/);
  await onDatabase(url, `INSERT INTO schema_version (migration, version) VALUES ('9999_of_tomorrow', '2.0.0')`);
  await expect(start()).rejects.toThrow(
    /^was migrated by Signalbox 2\.0\.0 \(to 9999_of_tomorrow\), and this is Signalbox 1\.2\.0 \(up to \d{4}_\w+\): start Signalbox 2\.0\.0 or newer/,
  );
  await onDatabase(
    url,
    `UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '9999_of_tomorrow'`,
  );
  expect(await start()).toEqual([]);
  await drop();
});

test('each migration says which version applied it', async () => {
  const { url, drop } = await freshDatabase('template0');
  const applied = await applyMigrations(url, null, '1.2.0');
  const rows = await onDatabase(url, `SELECT migration || ' ' || version AS relname FROM schema_version ORDER BY 1`);
  expect(rows.map(({ relname }) => relname)).toEqual(applied.map((name) => `${name} 1.2.0`).sort());
  await drop();
});
