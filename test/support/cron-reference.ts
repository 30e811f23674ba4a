/** A cron line's own words for the reference: each field as a test of a number, written by hand and not parsed. */
export interface Reference {
  readonly cron: string;
  /** What each field names; left out, all. `every` is what the line's hours say: each hour, in real time. */
  readonly minute?: readonly number[];
  readonly hour?: readonly number[];
  readonly date?: (date: Calendar) => boolean;
}

export interface Calendar {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  /** How many days its month has. */
  readonly last: number;
}

/** Moments, and what the clock shows at each: minutes since 1970, of real time and of wall time read as UTC. */
interface Minutes {
  readonly real: readonly number[];
  readonly wall: readonly number[];
}

/** What the clock of a zone does, minute by minute: walked with Intl alone, a formatted look each half hour. */
export interface Walk {
  /** What it shows at each real minute. */
  readonly shown: Minutes;
  /** Each wall time at the real minute at which it comes, or is passed, the first time: the left-out ones too. */
  readonly first: Minutes;
}

const MINUTE = 60_000;
/** Clocks change on the half hour at the finest. */
const LOOK = 30;

export function walkZone(timezone: string, start: number, end: number): Walk {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
  const real: number[] = [];
  const wall: number[] = [];
  for (let at = start; at < end; at += LOOK * MINUTE) {
    const shown = Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
    for (let minute = 0; minute < LOOK; minute += 1) {
      real.push(at / MINUTE + minute);
      wall.push(shown / MINUTE + minute);
    }
  }
  return { shown: { real, wall }, first: firstOf({ real, wall }) };
}

function firstOf({ real, wall }: Minutes): Minutes {
  const first = { real: [] as number[], wall: [] as number[] };
  let furthest = (wall[0] ?? 0) - 1;
  for (const [index, shown] of wall.entries()) {
    while (furthest < shown) {
      furthest += 1;
      first.real.push(real[index] ?? 0);
      first.wall.push(furthest);
    }
  }
  return first;
}

function flags(length: number, named: readonly number[] | undefined): readonly boolean[] {
  return Array.from({ length }, (_, at) => named === undefined || named.includes(at));
}

function calendarOf(wall: number): Calendar {
  const date = new Date(wall);
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    last: new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate(),
  };
}

/**
 * When the line fires: at each real minute whose wall time it names. A line of every hour takes what the clock shows;
 * another takes each wall time the first time that it comes or is passed.
 */
export function referenceTimes(walk: Walk, line: Reference): number[] {
  const minutes = flags(60, line.minute);
  const hours = flags(24, line.hour);
  const { real, wall } = line.hour ? walk.first : walk.shown;
  const dates = new Map<number, boolean>();
  const namesDate = (at: number): boolean => {
    const day = Math.floor(at / (24 * 60));
    const known = dates.get(day) ?? line.date?.(calendarOf(at * MINUTE)) ?? true;
    dates.set(day, known);
    return known;
  };
  const found: number[] = [];
  for (let index = 0; index < wall.length; index += 1) {
    const at = wall[index] ?? 0;
    if (!minutes[at % 60] || !hours[Math.floor(at / 60) % 24] || !namesDate(at)) continue;
    const moment = (real[index] ?? 0) * MINUTE;
    if (found.at(-1) !== moment) found.push(moment);
  }
  return found;
}
