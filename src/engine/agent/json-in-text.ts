import { jsonShapeFault } from '../../shared/json-shape.js';

/** Text of at least this many characters is checked before it is parsed. */
const LARGE = 65_536;

/** A JSON value in a text, with its source text. */
export interface Found<T> {
  readonly text: string;
  readonly value: T;
}

/**
 * The JSON values of a model's answer: the whole text, the content of its fence, or else each object and array within
 * prose. Truncated JSON yields nothing, not even its complete parts. Takes linear time.
 */
export function jsonInText<T>(text: string, parse: (text: string) => T): readonly Found<T>[] {
  const read = (candidate: string): readonly Found<T>[] => {
    if (candidate.length > LARGE && jsonShapeFault(candidate) !== null) return [];
    try {
      return [{ text: candidate, value: parse(candidate) }];
    } catch {
      return [];
    }
  };
  for (const candidate of [text.trim(), withoutFence(text)]) {
    const found = read(candidate);
    if (found.length > 0) return found;
  }
  return bracketed(text).flatMap(read);
}

/** Removes a fence around the whole text, closed or not. A model may write backticks without end. */
export function withoutFence(text: string): string {
  const whole = text.trim();
  const open = /^(?:`{3,}|~{3,})/.exec(whole)?.[0].length ?? 0;
  const begins = whole.indexOf('\n') + 1;
  if (open === 0 || begins <= open) return whole;
  let ends = whole.length;
  while (ends > begins && whole[ends - 1] === whole[0] && whole.length - ends < open) ends -= 1;
  return whole.slice(begins, whole.length - ends >= 3 ? ends : undefined).trim();
}

const CLOSERS: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** The outermost balanced brackets; none when the last is never closed, since the text may be truncated. */
function bracketed(text: string): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (CLOSERS[text[at] ?? ''] === undefined) continue;
    const end = endOfBrackets(text, at);
    if (end === null) return [];
    found.push(text.slice(at, end));
    at = end - 1;
  }
  return found;
}

function endOfBrackets(text: string, start: number): number | null {
  const closers: string[] = [];
  let isString = false;
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at] ?? '';
    if (isString && sign === '\\') at += 1;
    else if (sign === '"') isString = !isString;
    else if (!isString && CLOSERS[sign] !== undefined) closers.push(CLOSERS[sign]);
    else if (!isString && sign === closers.at(-1)) closers.pop();
    if (closers.length === 0) return at + 1;
  }
  return null;
}
