import type { Db, DbSession } from './contract.js';

/** The first key of the workers' advisory locks: "work" in ASCII. The second is the hash of the worker's id. */
const LOCK_CLASS = 0x776f726b;

/** SQL that is true while a session holds the lock of the worker with that id. */
export function lockIsHeld(id: string): string {
  return `EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = ${LOCK_CLASS}
      AND l.objid = (hashtext(${id})::bigint & 4294967295)::oid
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
}

/** A session that holds the worker's lock, which ends with its process. */
export async function lockWorker(db: Pick<Db, 'openSession'>, id: string): Promise<DbSession> {
  const session = await db.openSession();
  try {
    const [row] = await session.query<{ locked: boolean }>({
      text: 'SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked',
      values: [LOCK_CLASS, id],
    });
    if (row?.locked !== true) throw new Error('another session holds the lock of this worker');
  } catch (error) {
    await session.close();
    throw error;
  }
  return session;
}
