import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrationsDir, NO_FILTER, readMigrations, readSchema } from './migrations-folder.js';
import { clientConfig } from './pool.js';
import { withSchemaEngine } from './schema-engine.js';

/** Any number will do, as long as it is ours and stays: "signal" in ASCII. */
const MIGRATION_LOCK = '126909213401452';

/**
 * Brings the database to the newest migration; answers the names it applied. Two processes that start at once
 * take turns by an advisory lock. `_prisma_migrations` is the table that `prisma migrate deploy` reads too. Throws
 * `NewerDatabase` when a newer build has migrated it, whose rows this build would misread.
 */
export async function applyMigrations(
  url: string,
  ca: string | null = null,
  version = 'of an unknown version',
): Promise<readonly string[]> {
  const client = new pg.Client(clientConfig({ url, ca }));
  client.on('error', () => undefined);
  await client.connect();
  try {
    // The lock belongs to this session: a process that dies while it migrates frees it.
    await client.query('SELECT pg_advisory_lock($1::bigint)', [MIGRATION_LOCK]);
    const migrationsList = await readMigrations();
    const known = migrationsList.migrationDirectories.map((each) => each.path);
    const done = await appliedMigrations(client);
    await refuseNewer(client, { known, done: [...done.keys()], version });
    if (known.every((name) => done.get(name)) && ![...done.values()].includes(false)) return [];
    const { appliedMigrationNames } = await withSchemaEngine({ url, ca }, (engine) =>
      engine.applyMigrations({ migrationsList, filters: NO_FILTER }),
    );
    await noteVersion(client, appliedMigrationNames, version);
    return appliedMigrationNames;
  } finally {
    await client.end();
  }
}

/**
 * The migrations that the database records, and whether each finished. Loading the engine costs a third of a second, so
 * a start with nothing to migrate does not load it.
 */
async function appliedMigrations(client: pg.Client): Promise<ReadonlyMap<string, boolean>> {
  if (!(await hasTable(client, '_prisma_migrations'))) return new Map();
  const { rows } = await client.query<{ name: string; done: boolean }>(
    `SELECT migration_name AS name, bool_or(finished_at IS NOT NULL) AS done
       FROM _prisma_migrations WHERE rolled_back_at IS NULL GROUP BY migration_name`,
  );
  return new Map(rows.map(({ name, done }) => [name, done]));
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

async function noteVersion(client: pg.Client, names: readonly string[], version: string): Promise<void> {
  await client.query(
    'INSERT INTO schema_version (migration, version) SELECT unnest($1::text[]), $2 ON CONFLICT (migration) DO NOTHING',
    [names, version],
  );
}

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [name]);
  return rows[0]?.found === true;
}

/**
 * Writes `prisma/migrations/NNNN_<name>/migration.sql`: what leads from the migrations so far to the schema.
 * Answers its path, or null when the two agree. `url` names a server on which a shadow database may be made.
 */
export async function writeMigration(url: string, name: string): Promise<string | null> {
  if (!/^[a-z0-9_]{1,60}$/.test(name)) throw new Error(`invalid migration name "${name}": use a-z, 0-9 and _`);
  const [migrations, schema] = [await readMigrations(), await readSchema()];
  const script = await withSchemaEngine({ url, ca: null }, (engine) =>
    engine.diff({
      from: { tag: 'migrations', ...migrations },
      to: { tag: 'schemaDatamodel', ...schema },
      script: true,
      exitCode: null,
      filters: NO_FILTER,
    }),
  );
  if (!script.stdout || isEmptyScript(script.stdout)) return null;
  const folder = join(migrationsDir, `${await nextNumber()}_${name}`);
  await mkdir(folder);
  await writeFile(join(folder, 'migration.sql'), script.stdout);
  return join(folder, 'migration.sql');
}

/** The SQL that would bring the database to the schema; empty when they agree. */
export async function diffToSchema(url: string): Promise<string> {
  const schema = await readSchema();
  const { stdout } = await withSchemaEngine({ url, ca: null }, (engine) =>
    engine.diff({
      from: { tag: 'schemaDatasource', ...schema, configDir: migrationsDir },
      to: { tag: 'schemaDatamodel', ...schema },
      script: true,
      exitCode: null,
      filters: NO_FILTER,
    }),
  );
  return stdout && !isEmptyScript(stdout) ? stdout : '';
}

function isEmptyScript(script: string): boolean {
  return script.split('\n').every((line) => line.trim() === '' || line.startsWith('--'));
}

async function nextNumber(): Promise<string> {
  const taken = (await readdir(migrationsDir)).map((name) => Number.parseInt(name, 10)).filter(Number.isInteger);
  return String(Math.max(0, ...taken) + 1).padStart(4, '0');
}
