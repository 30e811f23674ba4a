import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from './package-root.js';

export const migrationsDir: string = join(packageRoot, 'prisma/migrations');

export interface Migration {
  /** The name of its folder, `NNNN_slug`. */
  readonly name: string;
  readonly script: string;
}

/** The migrations beside the schema, in their order. */
export async function readMigrations(): Promise<readonly Migration[]> {
  const entries = await readdir(migrationsDir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const read = async (name: string) => ({
    name,
    script: await readFile(join(migrationsDir, name, 'migration.sql'), 'utf8'),
  });
  return Promise.all(names.sort().map(read));
}
