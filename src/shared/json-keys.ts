import { endOfString, QUOTE } from './json-shape.js';

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** An open container at the current position: an object with its keys so far, or null for a list. */
type Open = { readonly keys: Set<string>; atKey: boolean } | null;

/**
 * A key that occurs twice in one object of a valid JSON text; null when none does. Parsers keep the last of the two, so
 * a check elsewhere that used the first would have seen another value (RFC 8259, section 4).
 */
export function duplicateKey(text: string): string | null {
  const open: Open[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const inside = open.at(-1) ?? null;
    if (code === QUOTE) {
      const end = endOfString(text, at);
      if (inside?.atKey) {
        const key = JSON.parse(text.slice(at, end + 1)) as string;
        if (inside.keys.has(key)) return key;
        inside.keys.add(key);
      }
      at = end;
    } else if (code === OPEN_OBJECT) open.push({ keys: new Set(), atKey: true });
    else if (code === OPEN_LIST) open.push(null);
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) open.pop();
    else if (inside && code === COLON) inside.atKey = false;
    else if (inside && code === COMMA) inside.atKey = true;
  }
  return null;
}
