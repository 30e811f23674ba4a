/** Parses `0.80`, `$1.50` or a YAML number to USD; undefined unless it is an amount with at most 9 decimals. */
export function parseMoney(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 && value <= MAX_USD ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const match = /^\$?(\d{1,9}(?:\.\d{1,9})?)$/.exec(value.trim());
  return match ? Number(match[1]) : undefined;
}

const MAX_USD = 999_999_999;
