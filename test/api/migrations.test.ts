import pg from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { applyMigrations, FailedMigration, NewerDatabase } from '../../src/platform/db/index.js';
import { readMigrations } from '../../src/platform/db/migrations-folder.js';
import { withSchemaEngine } from '../../src/platform/db/schema-engine.js';
import { diffToSchema, migrationList, NO_FILTER } from '../../src/platform/db/write-migration.js';
import { freshDatabase, testDatabase } from '../support/postgres.js';
import { startRefusing } from '../support/starting-server.js';

test('a migrated database differs from the schema in nothing', async () => {
  expect(await diffToSchema(testDatabase())).toBe('');
});

test('a column that is missing is found by the same diff', async () => {
  const { url, drop } = await freshDatabase();
  await onDatabase(url, 'ALTER TABLE run DROP COLUMN summary');
  expect(await diffToSchema(url)).toContain('ADD COLUMN     "summary" TEXT');
  await drop();
});

test.each(['57P03', '53300'])('a start waits for a database that is not ready (%s)', async (code) => {
  const server = await startRefusing(testDatabase(), { code, times: 2 });
  onTestFinished(() => server.close());
  const warnings: string[] = [];
  expect(await applyMigrations(server.url, { warn: (text) => warnings.push(text) })).toEqual([]);
  expect(server.refused()).toBe(2);
  expect(warnings).toEqual(['The database is not ready yet (refused by the test): waiting for it.']);
});

test('a start does not repeat a login that the database refuses', async () => {
  const server = await startRefusing(testDatabase(), { code: '28P01', times: 9 });
  onTestFinished(() => server.close());
  await expect(applyMigrations(server.url)).rejects.toThrow('refused by the test');
  expect(server.refused()).toBe(1);
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

/** How many sessions wait for a lock. */
async function waiting(url: string): Promise<number> {
  const rows = await onDatabase(
    url,
    `SELECT query AS relname FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
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
  await applyMigrations(url, { version: '1.2.0' });
  const newer = `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at)
    VALUES ('x', 'x', '9999_of_tomorrow', now(), now())`;
  await onDatabase(url, newer);
  const start = () => applyMigrations(url, { version: '1.2.0' });
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
  const applied = await applyMigrations(url, { version: '1.2.0' });
  const rows = await onDatabase(url, `SELECT migration || ' ' || version AS relname FROM schema_version ORDER BY 1`);
  expect(rows.map(({ relname }) => relname)).toEqual(applied.map((name) => `${name} 1.2.0`).sort());
  await drop();
});

describe('a database of its own', () => {
  let url: string;
  let drop: () => Promise<void>;
  beforeEach(async () => {
    ({ url, drop } = await freshDatabase('template0'));
  });
  afterEach(() => drop());

  const first = {
    name: '0001_first',
    script: 'CREATE TABLE schema_version (migration text PRIMARY KEY, version text);',
  };
  const tables = async () =>
    (
      await onDatabase(
        url,
        `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
      )
    )
      .map(({ relname }) => relname)
      .sort();

  test('Prisma and we accept what the other has migrated, with the same checksums', async () => {
    const migrationsList = await migrationList();
    const byPrisma = () =>
      withSchemaEngine({ url, ca: null }, (engine) => engine.applyMigrations({ migrationsList, filters: NO_FILTER }));
    const all = (await readMigrations()).map(({ name }) => name);
    expect((await byPrisma()).appliedMigrationNames).toEqual(all);
    const warnings: string[] = [];
    expect(await applyMigrations(url, { warn: (text) => warnings.push(text) })).toEqual([]);
    expect(warnings).toEqual([]);
    await onDatabase(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    expect(await applyMigrations(url)).toEqual(all);
    expect((await byPrisma()).appliedMigrationNames).toEqual([]);
    const diagnosed = await withSchemaEngine({ url, ca: null }, (engine) =>
      engine.diagnoseMigrationHistory({ migrationsList, filters: NO_FILTER, optInToShadowDatabase: false }),
    );
    expect(diagnosed).toMatchObject({ history: null, failedMigrationNames: [], editedMigrationNames: [] });
  });

  test('a migration that fails leaves nothing, says why and what to do, and is tried again', async () => {
    const broken = { name: '0002_broken', script: 'CREATE TABLE half (id int);\nSELECT 1 / 0;' };
    const failing = applyMigrations(url, { migrations: [first, broken] });
    await expect(failing).rejects.toBeInstanceOf(FailedMigration);
    await expect(failing).rejects.toThrow(
      'is as before the migration 0002_broken, which failed (division by zero): correct what this names and start again',
    );
    expect(await tables()).toEqual(['_prisma_migrations', 'schema_version']);
    const mended = { ...broken, script: 'CREATE TABLE whole (id int); -- a comment at the end' };
    expect(await applyMigrations(url, { migrations: [first, mended] })).toEqual(['0002_broken']);
    expect(await tables()).toEqual(['_prisma_migrations', 'schema_version', 'whole']);
  });

  test('a process that dies between two migrations has recorded the version of each that it applied', async () => {
    const broken = { name: '0002_broken', script: 'SELECT 1 / 0' };
    await expect(applyMigrations(url, { migrations: [first, broken], version: '1' })).rejects.toThrow(
      'division by zero',
    );
    const versions = `SELECT migration || ' ' || version AS relname FROM schema_version ORDER BY 1`;
    expect(await onDatabase(url, versions)).toEqual([{ relname: '0001_first 1' }]);
    const early = { name: '0000_early', script: 'CREATE TABLE early (id int)' };
    await onDatabase(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await applyMigrations(url, { migrations: [early, first], version: `it's 2` });
    expect(await onDatabase(url, versions)).toEqual([
      { relname: `0000_early it's 2` },
      { relname: `0001_first it's 2` },
    ]);
  });

  const alter = { name: '0002_wide', script: 'ALTER TABLE a ADD COLUMN more int; ALTER TABLE b ADD COLUMN more int;' };
  const other = async (): Promise<pg.Client> => {
    await applyMigrations(url, { migrations: [first] });
    await onDatabase(url, 'CREATE TABLE a (id int); CREATE TABLE b (id int)');
    const client = new pg.Client({ connectionString: url });
    // The database is dropped before its end.
    client.on('error', () => undefined);
    await client.connect();
    onTestFinished(() => client.end().catch(() => undefined));
    await client.query('BEGIN');
    return client;
  };

  test('a migration waits in short turns for a session that holds its table, and blocks no writer for longer', async () => {
    const backup = await other();
    await backup.query('LOCK TABLE b IN ACCESS SHARE MODE');
    const warnings: string[] = [];
    const applied = applyMigrations(url, { migrations: [first, alter], warn: (text) => warnings.push(text) });
    // Behind the waiting ALTER: it ends once that gives up.
    await expect.poll(() => waiting(url)).toBe(1);
    await onDatabase(url, 'INSERT INTO b VALUES (1)');
    await expect.poll(() => warnings).toEqual([expect.stringMatching(/^The migration 0002_wide waits .*lock timeout/)]);
    await backup.query('COMMIT');
    expect(await applied).toEqual(['0002_wide']);
    expect(await onDatabase(url, 'SELECT more FROM b')).toEqual([{ more: null }]);
  });

  test('a migration that loses a deadlock against a worker of the version before is tried again', async () => {
    const worker = await other();
    await worker.query(`SET deadlock_timeout = '1min'`);
    await worker.query('INSERT INTO b VALUES (1)');
    const warnings: string[] = [];
    const applied = applyMigrations(url, { migrations: [first, alter], warn: (text) => warnings.push(text) });
    await expect.poll(() => waiting(url)).toBe(1);
    await worker.query('INSERT INTO a VALUES (1)');
    await worker.query('COMMIT');
    expect(await applied).toEqual(['0002_wide']);
    // On a slow machine the worker comes to its wait after the migration has looked for a deadlock.
    expect(warnings).toEqual([expect.stringMatching(/deadlock detected|lock timeout/)]);
  });

  test('what cannot run inside a transaction runs outside of one, and left half done it refuses the start', async () => {
    const at = (script: string) => ({ migrations: [first, { name: '0002_index', script }], version: '2' });
    await applyMigrations(url, { migrations: [first], version: '1' });
    await onDatabase(url, `INSERT INTO schema_version VALUES ('a', 'same'), ('b', 'same')`);
    const unique = 'CREATE UNIQUE INDEX CONCURRENTLY by_version ON schema_version (version);';
    await expect(applyMigrations(url, at(unique))).rejects.toThrow(
      /^has the migration 0002_index half done \(could not create unique index/,
    );
    await expect(applyMigrations(url, at(unique))).rejects.toThrow(
      /set rolled_back_at = now\(\) in its row of _prisma_migrations/,
    );
    await onDatabase(url, 'DROP INDEX by_version');
    await onDatabase(url, `UPDATE _prisma_migrations SET rolled_back_at = now() WHERE finished_at IS NULL`);
    await onDatabase(url, `DELETE FROM schema_version WHERE migration = 'b'`);
    expect(await applyMigrations(url, at(unique))).toEqual(['0002_index']);
    expect(await applyMigrations(url, at(unique))).toEqual([]);
  });

  test('two processes that start at once apply what cannot run inside a transaction', async () => {
    const index = 'CREATE INDEX CONCURRENTLY by_version ON schema_version (version)';
    const migrations = [first, { name: '0002_index', script: index }];
    const applied = await Promise.all([applyMigrations(url, { migrations }), applyMigrations(url, { migrations })]);
    expect(applied.flat().sort()).toEqual(['0001_first', '0002_index']);
  });

  test('what cannot run inside a transaction is refused beside other statements, and leaves nothing', async () => {
    const script = 'CREATE TABLE half (id int); CREATE INDEX CONCURRENTLY by_id ON half (id)';
    const start = () => applyMigrations(url, { migrations: [first, { name: '0002_both', script }] });
    await expect(start()).rejects.toThrow(/^is as before the migration 0002_both, which has other statements/);
    expect(await tables()).toEqual(['_prisma_migrations', 'schema_version']);
    await expect(start()).rejects.toThrow(/^is as before the migration 0002_both/);
  });

  test('a migration that was edited since is named, unless only its line ends differ', async () => {
    const warned = async (script: string) => {
      const warnings: string[] = [];
      await applyMigrations(url, { migrations: [{ ...first, script }], warn: (text) => warnings.push(text) });
      return warnings;
    };
    const script = `${first.script}\n-- end\n`;
    expect(await warned(script)).toEqual([]);
    expect(await warned(script.replaceAll('\n', '\r\n'))).toEqual([]);
    expect(await warned(`${script}-- more`)).toEqual(['The migration 0001_first was edited after it was applied.']);
  });
});
