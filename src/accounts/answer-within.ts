import { setImmediate } from 'node:timers/promises';
import { ALIVE_MS, DatabaseBusy, DatabaseUnavailable, type Db } from '../db/index.js';

/** Under the 2 s within which a caller must learn that a part of the service does not answer. */
const LIMIT_MS = 1_500;

/** The first of those who wait for a connection has waited this long: who comes now would wait as long at least. */
const SHED_MS = 1_000;

const DOWN = 'the database does not answer; try again in a few seconds';

/** For how long new requests are refused at once, after one has waited in vain. */
const SHUT_MS = 500;

/** When each database was last found to be too busy. */
const busyAt = new WeakMap<Db, number>();

/** Refuses now what would be refused after it had waited. A database that is silent is not busy, but perhaps away. */
export function refuseOverload(db: Db): void {
  const { waitedMs, heardMsAgo } = db.pressure();
  const isShut = performance.now() - (busyAt.get(db) ?? Number.NEGATIVE_INFINITY) < SHUT_MS;
  if (isShut || (waitedMs >= SHED_MS && heardMsAgo < ALIVE_MS)) throw new DatabaseBusy(null);
}

/**
 * The database's answer, or `unavailable` when it does not come in time, since a part that hangs must not hang its
 * callers. It is `overloaded` when the database has answered others meanwhile.
 */
export async function answerWithin<T>(db: Db, work: Promise<T>, limitMs: number = LIMIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => void refuseLate(db).catch(reject), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

async function refuseLate(db: Db): Promise<never> {
  // What came while this process was busy itself is read first.
  await setImmediate();
  await setImmediate();
  if (db.pressure().heardMsAgo >= ALIVE_MS) throw new DatabaseUnavailable(null, DOWN, { retryAfter: 5 });
  busyAt.set(db, performance.now());
  throw new DatabaseBusy(null);
}
