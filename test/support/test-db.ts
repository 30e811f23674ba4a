import { createDb, type Db } from '../../src/platform/db/index.js';
import { atFileEnd } from './file-end.js';
import { testDatabase } from './postgres.js';
import { silentLog } from './silent-log.js';

let db: Db | undefined;

/** One pool a test file, closed when the file is done. */
export function testDb(): Db {
  if (db) return db;
  const opened = createDb({ url: testDatabase(), ca: null, poolSize: 10, log: silentLog });
  db = opened;
  atFileEnd(async () => {
    db = undefined;
    await opened.close();
  });
  return opened;
}
