import type { Json } from './json.js';
import { endOfString, QUOTE } from './json-shape.js';

const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const NUMBER = /[-\d][\d.eE+-]*/y;
/** A double holds every integer of fewer digits. */
const MANY_DIGITS = /\d{16}/;
/** More digits than any identifier has. Converting longer integers would take too long. */
const MAX_DIGITS = 1_000;

/** Marks an integer inside a string. It is random, so no text from outside can look like a marked integer. */
const MARK = `\uE000${crypto.randomUUID()}:`;
const MARKED = new RegExp(`(\\\\*)"${MARK}(-?\\d+)\\1"`, 'g');

let isExact = false;
let hasMarks = false;

/**
 * How `JSON.stringify` writes a bigint. Text for JSON goes through `toJson`, which writes the bare digits; other code
 * (a library, a log) gets the digits as a string instead of an exception.
 */
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  value(this: bigint): string {
    if (!isExact) return String(this);
    hasMarks = true;
    return MARK + String(this);
  },
});

/** JSON text of a value, as `JSON.stringify` writes it; a bigint is written as a number with all its digits. */
export function toJson(value: unknown, form?: number | ((key: string, value: unknown) => unknown)): string {
  isExact = true;
  hasMarks = false;
  try {
    const text = typeof form === 'function' ? JSON.stringify(value, form) : JSON.stringify(value, null, form);
    return hasMarks ? unmark(text) : text;
  } finally {
    isExact = false;
  }
}

/**
 * Reads JSON as `JSON.parse` does, except that an integer which a double cannot hold exactly becomes a bigint. Throws a
 * SyntaxError when the text is not JSON or an integer has more than 1,000 digits.
 */
export function parseJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  const marked = markText(text);
  return marked === text ? value : (revive(JSON.parse(marked)) as Json);
}

/**
 * Integers as marked strings, for a library that writes the value as JSON: `unmark` turns them into numbers in its
 * output.
 */
export function markIntegers<T extends Json>(value: T): T {
  return mapIntegers(value, (integer) => MARK + String(integer)) as T;
}

/** Integers as doubles, for code that only asks what kind of number it is, and about how large. */
export function toDoubles(value: unknown): unknown {
  return mapIntegers(value, Number);
}

/** Returns the same value when it contains no bigint. */
function mapIntegers(value: unknown, map: (integer: bigint) => unknown): unknown {
  if (typeof value === 'bigint') return map(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const mapped = value.map((entry) => mapIntegers(entry, map));
    return mapped.every((entry, at) => entry === value[at]) ? value : mapped;
  }
  const entries = Object.entries(value);
  const mapped = entries.map(([key, entry]): [string, unknown] => [key, mapIntegers(entry, map)]);
  return mapped.every(([, entry], at) => entry === entries[at]?.[1]) ? value : Object.fromEntries(mapped);
}

/**
 * The text with each large integer as a marked string, for a library that parses it: `unmark` turns them into numbers
 * again in the library's output. The text must be valid JSON, or a line of an event stream that contains it.
 */
export function markText(text: string): string {
  if (!MANY_DIGITS.test(text)) return text;
  const parts: string[] = [];
  let kept = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    if (code !== MINUS && (code < ZERO || code > NINE)) continue;
    NUMBER.lastIndex = at;
    const number = NUMBER.exec(text)?.[0] ?? '';
    if (isLargeInteger(number)) {
      parts.push(text.slice(kept, at), '"', MARK, number, '"');
      kept = at + number.length;
    }
    at += number.length - 1;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(kept);
}

/** Replaces each marked string by its integer, also in JSON inside a string of other JSON. */
export function unmark(text: string): string {
  return text.includes(MARK) ? text.replace(MARKED, '$2') : text;
}

function isLargeInteger(number: string): boolean {
  if (number.length < 16 || !/^-?\d+$/.test(number) || String(Number(number)) === number) return false;
  if (number.length > MAX_DIGITS) throw new SyntaxError(`a number has more than ${MAX_DIGITS} digits`);
  return true;
}

/** The integer as a number if that has the same digits, else as a bigint. */
export function exactInteger(integer: bigint): number | bigint {
  const double = Number(integer);
  return Number.isSafeInteger(double) || String(double) === String(integer) ? double : integer;
}

function revive(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(revive);
  for (const [key, entry] of Object.entries(value)) {
    const revived = revive(entry);
    if (revived !== entry) Object.defineProperty(value, key, { value: revived });
  }
  return value;
}
