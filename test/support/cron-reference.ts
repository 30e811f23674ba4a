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

/** What the clock of a zone shows, minute by minute: walked with Intl alone, a formatted look each half hour. */
export interface Walk {
  readonly start: number;
  /** The wall time (ms, read as UTC) at each real minute. */
  readonly walls: readonly number[];
}

const MINUTE = 60_000;
/** Clocks change on the half hour at the finest. */
const LOOK = 30;

export function walkZone(timezone: string, start: number, end: number): Walk {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
  const walls: number[] = [];
  for (let at = start; at < end; at += LOOK * MINUTE) {
    const shown = Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
    for (let minute = 0; minute < LOOK; minute += 1) walls.push(shown + minute * MINUTE);
  }
  return { start, walls };
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
 * When the line fires: each real minute asks which wall times have come since the one before, the left-out ones too. A
 * line of every hour takes what the clock shows; another takes each wall time the first time that it comes or is passed.
 */
export function referenceTimes({ start, walls }: Walk, line: Reference): number[] {
  const minutes = flags(60, line.minute);
  const hours = line.hour && flags(24, line.hour);
  const dates = new Map<number, boolean>();
  const names = (wall: number): boolean => {
    const minute = Math.floor(wall / MINUTE) % 60;
    if (!minutes[minute]) return false;
    if (hours && !hours[Math.floor(wall / (60 * MINUTE)) % 24]) return false;
    const day = Math.floor(wall / (24 * 60 * MINUTE));
    const known = dates.get(day) ?? line.date?.(calendarOf(wall)) ?? true;
    dates.set(day, known);
    return known;
  };
  const found: number[] = [];
  let furthest = (walls[0] ?? 0) - MINUTE;
  walls.forEach((wall, index) => {
    const at = start + index * MINUTE;
    if (!hours) {
      if (names(wall)) found.push(at);
      return;
    }
    let due = false;
    for (let passed = furthest + MINUTE; passed <= wall; passed += MINUTE) due ||= names(passed);
    if (due) found.push(at);
    furthest = Math.max(furthest, wall);
  });
  return found;
}
