import { join } from 'node:path';
import pg from 'pg';
import { applyMigrations } from '../../src/platform/db/index.js';
import { dataFolder, prepareDataFolder } from '../../src/platform/embedded/data-folder.js';
import { freePort } from '../../src/platform/embedded/free-port.js';
import { startPostgres } from '../../src/platform/embedded/postgres.js';

export const TEMPLATE = 'signalbox_template';

/** A test's data need not survive a power cut, and the disk is shared. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '400' };

/** A real Postgres with a migrated template, of which each test file's database is made. */
export async function startTestPostgres(folder: string) {
  const data = dataFolder(join(folder, 'postgres'));
  await prepareDataFolder(data);
  const server = await startPostgres(data, await freePort(), { settings: SETTINGS });
  try {
    await createTemplate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { adminDatabaseUrl: server.url, stop: server.stop };
}

export function databaseAt(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

async function createTemplate(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${TEMPLATE}`);
    await applyMigrations(databaseAt(adminUrl, TEMPLATE));
  } finally {
    await admin.end();
  }
}
