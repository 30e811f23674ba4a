import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationList, SchemasContainer } from '@prisma/schema-engine-wasm';
import { packageRoot } from './package-root.js';

export const migrationsDir: string = join(packageRoot, 'prisma/migrations');
const schemaFile = join(packageRoot, 'prisma/schema.prisma');

export const NO_FILTER = { externalTables: [], externalEnums: [] };

/** The migrations beside the schema, `NNNN_slug/migration.sql` each, in the form the schema engine reads. */
export async function readMigrations(): Promise<MigrationList> {
  const entries = await readdir(migrationsDir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const migrationDirectories = names.sort().map(async (path) => {
    const value = await readFile(join(migrationsDir, path, 'migration.sql'), 'utf8');
    return { path, migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value } } };
  });
  return {
    baseDir: migrationsDir,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(migrationDirectories),
  };
}

export async function readSchema(): Promise<SchemasContainer> {
  return { files: [{ path: schemaFile, content: await readFile(schemaFile, 'utf8') }] };
}
