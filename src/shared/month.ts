import { Lru } from './lru.js';

/** A calendar month in a timezone. */
export interface Month {
  /** `2026-11`. */
  readonly name: string;
  /** Epoch ms; the end is the next month's start. */
  readonly startMs: number;
  readonly endMs: number;
  /** The time zone of the month. */
  readonly timezone: string;
}

/** The month of that moment. A zone that the runtime does not know counts as UTC. */
export function monthAt(nowMs: number, timezone: string): Month {
  const zone = formatOf(timezone) === null ? 'UTC' : timezone;
  const [year = 0, month = 1] = wallTimeOf(nowMs, zone);
  return monthFrom(year, month, zone);
}

function monthFrom(year: number, month: number, timezone: string): Month {
  const name = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
  return { name, startMs: firstOf(year, month, timezone), endMs: firstOf(year, month + 1, timezone), timezone };
}

/** The start of the month in the zone: midnight of its first day by the zone's wall clock. */
function firstOf(year: number, month: number, timezone: string): number {
  const wall = Date.UTC(year, month - 1, 1);
  const near = wall - offsetAt(wall, timezone);
  return wall - offsetAt(near, timezone);
}

/** How far the zone's wall clock is ahead of UTC, in ms. */
function offsetAt(ms: number, timezone: string): number {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = wallTimeOf(ms, timezone);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1_000) * 1_000;
}

const ORDER = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const;

function wallTimeOf(ms: number, timezone: string): number[] {
  const parts = formatOf(timezone)?.formatToParts(ms) ?? [];
  return ORDER.map((type) => Number(parts.find((part) => part.type === type)?.value ?? 0));
}

const formats = new Lru<string, Intl.DateTimeFormat>(64);

function formatOf(timeZone: string): Intl.DateTimeFormat | null {
  const known = formats.get(timeZone);
  if (known) return known;
  const digits = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...digits, second: 'numeric' });
    return formats.set(timeZone, format);
  } catch {
    return null;
  }
}
