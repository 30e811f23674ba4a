import { Cron } from 'croner';
import { cronFields } from './fields.js';
import { DAY } from './units.js';

/** The days of a cron line, as midnights of a calendar without a time zone (ms, read as UTC). */
export interface Days {
  /** The first such day on or after this moment's day; null when there is none. */
  from(wall: number): number | null;
}

/**
 * The days that the last three fields name. With both day fields set, a day matches either, unless one field begins
 * with a star: then it must match both (cron(5)).
 */
export function daysOf(cron: string): Days {
  const [, , day, month, weekday] = cronFields(cron);
  const domAndDow = /^[*?]/.test(day) || /^[*?]/.test(weekday);
  // An offset instead of a zone: these days have no zone, and computing with zones takes most of the time.
  const dates = new Cron(`0 0 ${day} ${month} ${weekday}`, { mode: '5-part', utcOffset: 0, paused: true, domAndDow });
  let known: { readonly since: number; readonly day: number | null } | null = null;
  return {
    from(wall) {
      const since = Math.floor(wall / DAY) * DAY;
      if (known && since >= known.since && (known.day === null || since <= known.day)) return known.day;
      known = { since, day: dates.nextRun(new Date(since - 1_000))?.getTime() ?? null };
      return known.day;
    },
  };
}
