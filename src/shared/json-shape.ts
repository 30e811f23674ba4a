/** Deeper than any valid body. Up to this depth, code that walks a body by recursion is safe. */
const MAX_DEPTH = 64;
/** Five times what the largest tree needs. */
const MAX_VALUES = 200_000;

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENS: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSES: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * What is wrong with the shape of a JSON text; null when it may be parsed. Checks the text before parsing it: parsing a
 * body of maximum size that is only brackets costs seconds and gigabytes.
 */
export function jsonShapeFault(text: string): string | null {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values += 1;
    else if (CLOSES.has(code)) depth -= 1;
    else if (OPENS.has(code)) {
      values += 1;
      depth += 1;
      if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
    }
    if (values > MAX_VALUES) return `holds more than ${MAX_VALUES} values`;
  }
  return null;
}

/** The index where the string that begins here closes; the end of the text when it never does. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return at;
}
