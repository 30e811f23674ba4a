import { type Days, daysOf } from './days.js';
import { cronFields, fieldNumbers } from './fields.js';
import { DAY, HOUR, MINUTE } from './units.js';
import { type Zone, zoneOf } from './zone.js';

interface Pattern {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: Days;
}

/**
 * The moments (epoch ms) after `after` at which a cron line fires in a zone, rising, without an end unless it has one.
 *
 * A line that names every hour follows real time: it fires whenever the clock shows a minute that it names, so an hour
 * that comes twice has it twice, and one that is left out has none. Any other line fires once for each time of the
 * local day that it names: at the first of two, and for a time that the clock leaves out at the moment after the gap.
 *
 * Throws a sentence, with the first of them, when the line or the zone cannot be read.
 */
export function* cronTimes(cron: string, timezone: string, after: number): Generator<number, void> {
  const [minute, hour] = cronFields(cron);
  const pattern = { minutes: fieldNumbers(minute, 59), hours: fieldNumbers(hour, 23), days: daysOf(cron) };
  const zone = zoneOf(timezone);
  yield* pattern.hours.length === 24 ? inRealTime(pattern, zone, after) : onceADay(pattern, zone, after);
}

/** The first `count` of them, none at or after `before`. */
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
  for (const wall of walls(pattern, after + zone.offsetAt(after) - MINUTE)) {
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
    // The clock changes before that: from there on it shows other times. Or nothing is due until then, whatever the
    // clock does between; it is asked again from shortly before.
    from =
      zone.offsetAt(sure) === offset
        ? Math.max(from + DAY, beyond.at - DAY - 12 * HOUR)
        : zone.changeIn(from + 1, sure) - 1;
  }
}

interface Beyond {
  /** The last moment that is settled. */
  readonly from: number;
  /** When the next would be if the clock kept its offset. */
  readonly at: number;
}

/** Those after `from` while the clock keeps the offset, each within a day of the one before; null when there are no more. */
function* whileSame(
  pattern: Pattern,
  { zone, offset }: { readonly zone: Zone; readonly offset: number },
  from: number,
): Generator<number, Beyond | null> {
  let last = from;
  for (const wall of walls(pattern, from + offset)) {
    const at = wall - offset;
    if (at > last + DAY || zone.offsetAt(at) !== offset) return { from: last, at };
    yield at;
    last = at;
  }
  return null;
}

/** The wall times after `after` that it names. */
function* walls({ minutes, hours, days }: Pattern, after: number): Generator<number, void> {
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
