import { Cron } from 'croner';
import { cronFields } from './fields.js';
import { DAY } from './units.js';

/** The days of a cron line, as midnights of a calendar without a zone (ms, read as UTC). */
export interface Days {
  /** The first such day that is not before this moment's; null when there is none. */
  from(wall: number): number | null;
}

/**
 * Which days its last three fields name. Both day fields given means either, unless one begins with a star: then both
 * have to fit, which is what cron(5) says.
 */
export function daysOf(cron: string): Days {
  const [, , day, month, weekday] = cronFields(cron);
  const domAndDow = /^[*?]/.test(day) || /^[*?]/.test(weekday);
  // An offset instead of a zone: reading zones is most of the work, and these days have none.
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
