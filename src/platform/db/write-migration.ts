import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationList, SchemasContainer } from '@prisma/schema-engine-wasm';
import { migrationsDir, readMigrations } from './migrations-folder.js';
import { packageRoot } from './package-root.js';
import { withSchemaEngine } from './schema-engine.js';

const schemaFile = join(packageRoot, 'prisma/schema.prisma');
export const NO_FILTER = { externalTables: [], externalEnums: [] };

/**
 * Writes `prisma/migrations/NNNN_<name>/migration.sql`, which brings the result of all migrations to the schema.
 * Returns its path, or null when they agree. `url` names a server on which a shadow database can be created.
 */
export async function writeMigration(url: string, name: string): Promise<string | null> {
  if (!/^[a-z0-9_]{1,60}$/.test(name)) throw new Error(`invalid migration name "${name}": use a-z, 0-9 and _`);
  const [migrations, schema] = [await migrationList(), await readSchema()];
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

/** All migrations in the form that the schema engine reads. */
export async function migrationList(): Promise<MigrationList> {
  const migrations = await readMigrations();
  return {
    baseDir: migrationsDir,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, script }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: script } },
    })),
  };
}

async function readSchema(): Promise<SchemasContainer> {
  return { files: [{ path: schemaFile, content: await readFile(schemaFile, 'utf8') }] };
}

function isEmptyScript(script: string): boolean {
  return script.split('\n').every((line) => line.trim() === '' || line.startsWith('--'));
}

async function nextNumber(): Promise<string> {
  const taken = (await readdir(migrationsDir)).map((name) => Number.parseInt(name, 10)).filter(Number.isInteger);
  return String(Math.max(0, ...taken) + 1).padStart(4, '0');
}
