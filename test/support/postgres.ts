import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { atFileEnd } from './file-end.js';
import { databaseAt, TEMPLATE } from './postgres-server.js';

let ofFile: string | undefined;

/** The URL of the test file's own migrated database. What a test sees or changes in it no other file does. */
export function testDatabase(): string {
  if (ofFile === undefined)
    throw new Error('this project has no databases: see NEED_POSTGRES of test/support/projects.ts');
  return ofFile;
}

/** For the set-up of a test file: its database, dropped when all else of the file has ended. */
export async function openTestDatabase(): Promise<void> {
  const { url, drop } = await freshDatabase();
  ofFile = url;
  atFileEnd(async () => {
    ofFile = undefined;
    await drop();
  });
}

/** A migrated database for one test alone, with settings of its own, and how to drop it. */
export async function freshDatabase(
  template: string = TEMPLATE,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ url: string; drop: () => Promise<void> }> {
  const adminUrl = inject('adminDatabaseUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  // A copy of its files: by the log, which is the default, it takes half as long again.
  await runOn(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
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
