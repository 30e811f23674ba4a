import { join } from 'node:path';
import pg from 'pg';
import { applyMigrations } from '../../src/db/index.js';
import { dataFolder, prepareDataFolder } from '../../src/embedded/data-folder.js';
import { freePort } from '../../src/embedded/free-port.js';
import { startPostgres } from '../../src/embedded/postgres.js';

export const TEMPLATE = 'signalbox_template';

/** A real Postgres with a migrated template and one shared database made from it. */
export async function startTestPostgres(folder: string) {
  const data = dataFolder(join(folder, 'postgres'));
  await prepareDataFolder(data);
  // A test's data need not survive a power cut, and the disk is shared.
  const server = await startPostgres(data, await freePort(), { fsync: 'off', max_connections: '400' });
  try {
    await createDatabases(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { adminDatabaseUrl: server.url, databaseUrl: databaseAt(server.url, 'signalbox'), stop: server.stop };
}

export function databaseAt(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

async function createDatabases(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${TEMPLATE}`);
    await applyMigrations(databaseAt(adminUrl, TEMPLATE));
    await admin.query(`CREATE DATABASE signalbox TEMPLATE ${TEMPLATE}`);
  } finally {
    await admin.end();
  }
}
