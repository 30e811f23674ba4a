import { toJson } from './exact-json.js';

/** A bigint is an integer that a double does not hold exactly: `parseJson` makes it, `toJson` writes it as a number. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON with sorted object keys, so that equal values have equal digests. */
export function canonicalJson(value: unknown): string {
  return toJson(value, (_key, entry) =>
    isRecord(entry) ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))) : entry,
  );
}
