import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseAt, TEMPLATE } from './postgres-server.js';

/** The URL of the shared, migrated database: mint tenants of your own in it. */
export function testDatabase(): string {
  return inject('databaseUrl');
}

/** A migrated database for one test alone, with settings of its own, and how to drop it. */
export async function freshDatabase(
  template: string = TEMPLATE,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ url: string; drop: () => Promise<void> }> {
  const adminUrl = inject('adminDatabaseUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runOn(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  for (const [key, value] of Object.entries(settings))
    await runOn(adminUrl, `ALTER DATABASE ${name} SET ${key} = ${value}`);
  return { url: databaseAt(adminUrl, name), drop: () => runOn(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function runOn(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
