import type { Clock } from '../../shared/clock.js';
import type { Log } from '../../shared/log.js';
import { type Loops, startLoops } from '../../shared/repeat.js';
import type { Sql } from './contract.js';

const EVERY_MS = 30_000;
/** A difference of this size is logged, since people notice it. */
const NOTED_MS = 2_000;

export interface DatabaseClock extends Clock, Loops {}

/**
 * The database's clock, for times that processes on several machines compare. Between two readings it is the local
 * clock plus the last known difference, which also holds while the database is unreachable.
 */
export async function keepDatabaseClock(db: Sql, log: Log, local: Clock): Promise<DatabaseClock> {
  let offsetMs = 0;
  async function read(): Promise<void> {
    try {
      const { differenceMs, errorMs } = await measure(db, local);
      const changeMs = Math.abs(differenceMs - offsetMs);
      // Ignore changes within the measurement's own error, so that the clock does not jitter.
      if (changeMs <= errorMs) return;
      offsetMs = differenceMs;
      if (changeMs >= NOTED_MS)
        log.warn({ offsetMs }, 'local clock differs from the database clock, using the database clock');
    } catch (error) {
      log.debug({ err: error }, 'failed to read the database clock');
    }
  }
  await read();
  const { close } = startLoops(log, [{ name: 'database clock', everyMs: EVERY_MS, work: read }]);
  return { now: () => local.now() + offsetMs, close };
}

/** How far the database's clock is ahead of the local one, and the maximum error of that. */
async function measure(db: Sql, local: Clock): Promise<{ differenceMs: number; errorMs: number }> {
  const sentAt = local.now();
  const [row] = await db.query<{ ms: number }>({
    name: 'database-clock',
    text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  });
  const answeredAt = local.now();
  const differenceMs = Math.round((row?.ms ?? answeredAt) - (sentAt + answeredAt) / 2);
  return { differenceMs, errorMs: (answeredAt - sentAt) / 2 + 1 };
}
