import { type Days, daysOf } from './days.js';
import { fieldNumbers } from './fields.js';
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
 */
export function* cronTimes(cron: string, timezone: string, after: number): Generator<number, void> {
  const [minute = '*', hour = '*'] = cron.split(' ');
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
    const { value: wall } = walls(pattern, from + offset).next();
    if (wall === undefined) return;
    const at = wall - offset;
    const sure = Math.min(at, from + DAY);
    if (zone.offsetAt(sure) !== offset) {
      // The clock changes before that: from there on it shows other times.
      from = zone.changeIn(from + 1, sure) - 1;
    } else if (at === sure) {
      yield at;
      from = at;
    } else {
      // Nothing until then, whatever the clock does between; it is asked again from shortly before.
      from = Math.max(from + DAY, at - DAY - 12 * HOUR);
    }
  }
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
