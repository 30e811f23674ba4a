import { type Days, daysOf } from './days.js';
import { cronFields, fieldNumbers } from './fields.js';
import { DAY, HOUR, MINUTE } from './units.js';

/** The limit of cached days: a few years. Looking up an offset is slow, and a schedule repeats the same days. */
const MOST_DAYS = 2_000;

const zones = new Map<string, Zone>();

interface Pattern {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: Days;
}

/**
 * The moments (epoch ms) after `after` at which a cron line fires in a zone, ascending, usually without end.
 *
 * A line that names every hour follows real time. It fires whenever the clock shows a minute that it names: twice in an
 * hour that the clock repeats, and never in one that it skips. Any other line fires once for each local time of the
 * day: at the first of two equal times, and for a skipped time at the moment after the gap.
 *
 * Throws a sentence at the first call of `next` when the line or the zone cannot be read.
 */
export function* cronTimes(cron: string, timezone: string, after: number): Generator<number, void> {
  const [minute, hour] = cronFields(cron);
  const pattern = { minutes: fieldNumbers(minute, 59), hours: fieldNumbers(hour, 23), days: daysOf(cron) };
  const zone = zoneOf(timezone);
  yield* pattern.hours.length === 24 ? inRealTime(pattern, zone, after) : onceADay(pattern, zone, after);
}

/** The first `count` of these moments, all before `before`. */
export function nextTimes(
  { cron, timezone }: { readonly cron: string; readonly timezone: string },
  after: number,
  count: number,
  before = Number.POSITIVE_INFINITY,
): number[] {
  const found: number[] = [];
  for (const at of cronTimes(cron, timezone, after)) {
    if (at >= before) break;
    found.push(at);
    if (found.length === count) break;
  }
  return found;
}

function* onceADay(pattern: Pattern, zone: Zone, after: number): Generator<number, void> {
  let last = after;
  for (const wall of wallTimes(pattern, after + zone.offsetAt(after) - MINUTE)) {
    const at = zone.momentOf(wall);
    if (at <= last) continue;
    yield at;
    last = at;
  }
}

function* inRealTime(pattern: Pattern, zone: Zone, after: number): Generator<number, void> {
  let from = after;
  for (;;) {
    const offset = zone.offsetAt(from + 1);
    const beyond = yield* whileSame(pattern, { zone, offset }, from);
    if (beyond === null) return;
    from = beyond.from;
    const sure = Math.min(beyond.at, from + DAY);
    // Either the clock changes before `sure`: continue at the change. Or nothing is due until `beyond.at`, whatever the
    // clock does: continue shortly before it.
    from =
      zone.offsetAt(sure) === offset
        ? Math.max(from + DAY, beyond.at - DAY - 12 * HOUR)
        : zone.changeIn(from + 1, sure) - 1;
  }
}

interface Beyond {
  /** The last moment that is complete. */
  readonly from: number;
  /** The next moment if the clock kept its offset. */
  readonly at: number;
}

/**
 * The moments after `from` while the clock keeps the offset, each at most a day after the one before; null at
 * the end.
 */
function* whileSame(
  pattern: Pattern,
  { zone, offset }: { readonly zone: Zone; readonly offset: number },
  from: number,
): Generator<number, Beyond | null> {
  let last = from;
  for (const wall of wallTimes(pattern, from + offset)) {
    const at = wall - offset;
    if (at > last + DAY || zone.offsetAt(at) !== offset) return { from: last, at };
    yield at;
    last = at;
  }
  return null;
}

/** The wall times after `after` that the pattern names. */
function* wallTimes({ minutes, hours, days }: Pattern, after: number): Generator<number, void> {
  for (let day = days.from(after); day !== null; day = days.from(day + DAY)) {
    for (const hour of hours) {
      if (day + (hour + 1) * HOUR <= after) continue;
      for (const minute of minutes) {
        const wall = day + hour * HOUR + minute * MINUTE;
        if (wall > after) yield wall;
      }
    }
  }
}

/** A time zone's clock. A wall time is what the clock shows, read as UTC (ms). */
interface Zone {
  /** How far the clock is ahead of UTC at that moment, ms. */
  offsetAt(at: number): number;
  /** The moment at which the clock shows this: the first of two; the moment after the gap for a skipped time. */
  momentOf(wall: number): number;
  /** The first moment in (low, high] with another offset than at `low`. */
  changeIn(low: number, high: number): number;
}

function zoneOf(name: string): Zone {
  const zone = zones.get(name) ?? createZone(name);
  zones.set(name, zone);
  return zone;
}

function createZone(name: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const look = (at: number): number => {
    const [month = 1, day = 1, year = 1970, hour = 0, minute = 0, second = 0] = (
      format.format(at).match(/\d+/g) ?? []
    ).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000;
  };
  /** The offset by UTC day; null when it changes within the day. A clock does not change twice in one day. */
  const days = new Map<number, number | null>();
  const offsetAt = (at: number): number => {
    const day = Math.floor(at / DAY);
    let known = days.get(day);
    if (known === undefined) {
      const begins = look(day * DAY);
      known = begins === look((day + 1) * DAY) ? begins : null;
      if (days.size >= MOST_DAYS) days.clear();
      days.set(day, known);
    }
    return known ?? look(at);
  };
  const changeIn = (low: number, high: number): number => {
    const before = offsetAt(low);
    let [same, other] = [low, high];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (offsetAt(middle) === before) same = middle;
      else other = middle;
    }
    return other;
  };
  return { offsetAt, changeIn, momentOf: (wall) => momentOf(wall, { offsetAt, changeIn }) };
}

function momentOf(wall: number, { offsetAt, changeIn }: Pick<Zone, 'offsetAt' | 'changeIn'>): number {
  const before = offsetAt(wall - DAY);
  const after = offsetAt(wall + DAY);
  if (before === after) return wall - before;
  if (offsetAt(wall - before) === before) return wall - before;
  if (offsetAt(wall - after) === after) return wall - after;
  return changeIn(wall - after, wall - before);
}
