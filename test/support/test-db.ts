import { afterAll } from 'vitest';
import { createDb, type Db } from '../../src/db/index.js';
import { testDatabase } from './postgres.js';
import { silentLog } from './silent-log.js';

let db: Db | undefined;

/** One pool a test file, closed when the file is done. */
export function testDb(): Db {
  db ??= createDb({ url: testDatabase(), ca: null, poolSize: 10, log: silentLog });
  return db;
}

afterAll(async () => {
  await db?.close();
  db = undefined;
});
