const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** A century. Every clock, database and timer can represent a time that far away, and even ten times as far. */
const LONGEST_MS = 36_525 * UNIT_MS.d;

/** `90s 5m 2h 3d 1w` to milliseconds, a century at most; undefined for an invalid duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(s|m|h|d|w)$/.exec(text.trim());
  if (!match) return undefined;
  const ms = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  return ms > 0 ? Math.min(ms, LONGEST_MS) : undefined;
}
