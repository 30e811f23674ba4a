import { nextTimes } from '../../format/index.js';
import type { ScheduleRow } from './schedule-row.js';

/** Times that passed without a run, reported together. */
export interface LeftOut {
  readonly first: number;
  readonly last: number;
  /** Number of times, counted up to `MOST_COUNTED`. */
  readonly times: number;
}

export interface Due {
  /** The times to start a run for, ascending. */
  readonly start: readonly number[];
  readonly leftOut: LeftOut | null;
}

/** Maximum number of missed runs to start at once. */
export const MOST_CAUGHT_UP = 100;
export const MOST_COUNTED = 1_000;
/** A time that is at most this late was not missed: the worker was busy or restarted. */
export const ON_TIME_MS = 5 * 60_000;
const HOUR = 3_600_000;
const WINDOWS = [2, 24, 7 * 24, 35 * 24, 366 * 24].map((hours) => hours * HOUR);

type Asked = Pick<ScheduleRow, 'cron' | 'timezone' | 'catchUp' | 'overlap'> & { readonly settledUntil: Date };

/**
 * The due times after `settledUntil` up to now. `last` fires the newest one, `none` fires it only while it is on time,
 * `all` fires up to a hundred. The other times are left out.
 */
export function dueTimes(schedule: Asked, now: number): Due {
  const settled = schedule.settledUntil.getTime();
  const newest = newestTimes(schedule, settled, now);
  const [last] = newest.slice(-1);
  if (last === undefined) return { start: [], leftOut: null };
  const start = chosen(schedule, newest, now - last <= ON_TIME_MS);
  const until = start[0] ?? now + 1;
  const before = nextTimes(schedule, settled, MOST_COUNTED, until);
  const [first] = before;
  if (first === undefined) return { start, leftOut: null };
  const latest = newest.filter((at) => at < until).at(-1) ?? before.at(-1) ?? first;
  return { start, leftOut: { first, last: latest, times: before.length } };
}

function chosen({ catchUp, overlap }: Asked, newest: readonly number[], onTime: boolean): readonly number[] {
  if (catchUp === 'none' && !onTime) return [];
  // With `overlap: cancel`, each run would end the one before it.
  if (catchUp === 'all' && overlap !== 'cancel') return newest.slice(-MOST_CAUGHT_UP);
  return newest.slice(-1);
}

/**
 * The newest times, at least as many as can fire if there are that many. Searches backwards from now, since a year of
 * minutes is long.
 */
function newestTimes(schedule: Asked, settled: number, now: number): number[] {
  for (const window of WINDOWS) {
    const found = nextTimes(schedule, Math.max(settled, now - window), Number.POSITIVE_INFINITY, now + 1);
    if (found.length > MOST_CAUGHT_UP || now - window <= settled) return found;
  }
  return nextTimes(schedule, settled, Number.POSITIVE_INFINITY, now + 1);
}
