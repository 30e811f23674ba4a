import { setImmediate } from 'node:timers/promises';
import { ALIVE_MS, DatabaseBusy, DatabaseUnavailable, type Db } from '../../platform/db/index.js';
import { within } from '../../shared/deadline.js';

/** Under the 2 s within which a caller must learn that a part of the service does not answer. */
const LIMIT_MS = 1_500;

/** Refuse new requests when the first in the queue for a connection has waited this long. */
const SHED_MS = 1_000;

const NO_ANSWER = 'the database does not answer; try again in a few seconds';

/** How long new requests are refused immediately after one has timed out. */
const REFUSE_MS = 500;

/** The last time that each database was too busy. */
const busyAt = new WeakMap<Db, number>();

/** Refuses a request immediately that would time out anyway. A silent database counts as unavailable, not as busy. */
export function refuseOverload(db: Db): void {
  const { waitedMs, lastAnswerMsAgo } = db.pressure();
  const isRefusing = performance.now() - (busyAt.get(db) ?? Number.NEGATIVE_INFINITY) < REFUSE_MS;
  if (isRefusing || (waitedMs >= SHED_MS && lastAnswerMsAgo < ALIVE_MS)) throw new DatabaseBusy(null);
}

/**
 * Returns the database's answer, or refuses with `unavailable` after the limit, so that a hanging database does not
 * hang callers. Refuses with `overloaded` when the database has answered other requests in the meantime.
 */
export function answerWithin<T>(db: Db, work: Promise<T>, limitMs: number = LIMIT_MS): Promise<T> {
  return within(work, limitMs, () => refuseLate(db));
}

async function refuseLate(db: Db): Promise<never> {
  // Read pending input first: this process may have been the busy one.
  await setImmediate();
  await setImmediate();
  if (db.pressure().lastAnswerMsAgo >= ALIVE_MS) throw new DatabaseUnavailable(null, NO_ANSWER, { retryAfter: 5 });
  busyAt.set(db, performance.now());
  throw new DatabaseBusy(null);
}
