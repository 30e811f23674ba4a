import type { Json } from './json.js';
import { endOfString, QUOTE } from './json-shape.js';

const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

const NUMBER = /[-\d][\d.eE+-]*/y;

/**
 * Parses JSON, with each number that a double would not reproduce as it was sent (9007199254740993, 1.50) as its text,
 * so that rounding does not make two different values equal. Throws on invalid JSON.
 */
export function parseExact(json: string): Json {
  const value = JSON.parse(json) as Json;
  const exact = quoteNumbers(json);
  return exact === json ? value : (JSON.parse(exact) as Json);
}

/**
 * Quotes these numbers in valid JSON, where outside of strings everything that begins with a digit or `-` is a number.
 */
function quoteNumbers(json: string): string {
  const parts: string[] = [];
  let kept = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    if (code !== MINUS && (code < ZERO || code > NINE)) continue;
    NUMBER.lastIndex = at;
    const number = NUMBER.exec(json)?.[0] ?? '';
    if (String(Number(number)) !== number) {
      parts.push(json.slice(kept, at), '"', number, '"');
      kept = at + number.length;
    }
    at += number.length - 1;
  }
  return parts.length === 0 ? json : parts.join('') + json.slice(kept);
}
