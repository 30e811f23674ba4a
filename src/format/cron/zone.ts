import { DAY } from './units.js';

/** A time zone's clock. A wall time is what the clock shows, read as if it were UTC (ms). */
export interface Zone {
  /** How far the clock is before UTC at that moment, ms. */
  offsetAt(at: number): number;
  /** When the clock shows this: the first time where it does so twice, the moment after the gap where it never does. */
  momentOf(wall: number): number;
  /** The first moment after `low`, and not after `high`, at which the clock's offset is another one. */
  changeIn(low: number, high: number): number;
}

/** A few years: asking is dear, and a schedule asks about the same days again and again. */
const MOST_DAYS = 2_000;

const zones = new Map<string, Zone>();

export function zoneOf(name: string): Zone {
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
  /** Of a day (UTC) that begins and ends with the same offset: a clock does not change twice in one. */
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
