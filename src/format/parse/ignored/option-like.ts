import { type Fit, findKey, findNearKey, type KnownKey, type KnownKeys, lettersOf } from './known-keys.js';
import { decidersAlone } from './near-deciders.js';
import { startOf } from './value-start.js';

/** A line of text that looks like `key: value` of the format. */
export interface OptionLike {
  readonly known: KnownKey;
  /** `no`: only the key and the separator look like an option. */
  readonly fit: Fit;
  /** The line as it should have been written. */
  readonly meant: string;
  /** True if key and colon are written as the format requires. */
  readonly isExact: boolean;
  /** True if any list mark precedes it. */
  readonly hasMark: boolean;
  /** True if a colon or another sign separates key and value. */
  readonly hasSeparator: boolean;
  /** The value fits only in part, or nearly: `30s max`, `about $5`. */
  readonly isPart: boolean;
}

/**
 * The keys to compare lines of one file with, and the remaining number of comparisons: each takes as long as reading an
 * option.
 */
export interface OptionScan {
  readonly keys: KnownKeys;
  left: number;
}

/** Longer lines than an option can be are prose. */
const MAX_LINE = 4_200;
const INVISIBLE = /[\u200B-\u200D\u2060\uFEFF\u00AD]/g;
/** List marks of markdown, word processors and tables. A backslash is not one: it marks the line as text. */
const MARK = /^(?:[-+*•●◦▪▫‣⁃∙·–—−‐‑‒―➤►▶→✓✔☐☑]|\(?\d{1,9}[.)]|\(?[A-Za-z][.)](?=\s)|\[[ xX]?\](?=\s)|[|>])\s*/u;
const EXACT = /^[a-z][a-z_]*: \S/;
/** Up to three words, and the separator before the value. */
const SEPARATED = /^([^\s:：=|]+(?: [^\s:：=|]+){0,2}?)(?:\s*(?:[:：]|=(?!=)|->|=>|→|\|)|\s+[-–—](?=\s))\s*(\S.*)$/u;
const LETTERS_FIRST = /^[*_~`"'“‘[({<\s]*[A-Za-z]/u;

/** Reads a line that is almost an option; null for prose. */
export function readOptionLike(line: string, scan: OptionScan): OptionLike | null {
  if (line.length > MAX_LINE) return null;
  const { text, hasMark } = withoutMarks(line.replace(INVISIBLE, '').replaceAll('\u00A0', ' ').trim());
  if (!LETTERS_FIRST.test(text)) return null;
  const [, word = '', value = ''] = SEPARATED.exec(text) ?? [];
  const hasColon = /^\s*[:：=]/u.test(text.slice(word.length));
  const found = value === '' ? null : withKey(scan, word, { value, hasColon });
  const isExact = EXACT.test(text) && !/[\u00A0\t]/.test(line);
  if (found) {
    const isOwn = isExact && text.startsWith(`${found.known.key}:`);
    return { ...found, isExact: isOwn, hasMark, hasSeparator: true };
  }
  const bare = withoutSeparator(scan, text);
  return bare && { ...bare, isExact: false, hasMark, hasSeparator: false };
}

function withoutMarks(line: string): { text: string; hasMark: boolean } {
  let text = line;
  for (let times = 0; times < 4; times += 1) {
    const mark = MARK.exec(text)?.[0];
    // `**bold**` and `*emphasis*` begin with a sign that is not a list mark.
    if (mark === undefined || (/^[*_]/.test(mark) && !/\s$/.test(mark))) break;
    text = text.slice(mark.length);
  }
  return { text: text.replace(/\s*\|$/, ''), hasMark: text !== line || text.startsWith('{') };
}

type Found = Omit<OptionLike, 'isExact' | 'hasMark' | 'hasSeparator'>;

interface Written {
  readonly value: string;
  readonly hasColon: boolean;
}

function withKey(scan: OptionScan, word: string, { value, hasColon }: Written): Found | null {
  const key = findKey(scan.keys, word);
  if (key)
    return withValue(scan, key, value) ?? (hasColon ? (withStart(key, value) ?? withKeyAlone(key, value)) : null);
  const near = findNearKey(scan.keys, word);
  if (near === null || near.isName) return null;
  // `Approver: the owner of the shop` has another word, not a misspelt key.
  const isMisspelt = hasColon && !lettersOf(word).startsWith(near.key);
  const found = withValue(scan, near, value) ?? (isMisspelt ? withStart(near, value) : null);
  if (found?.fit === 'strong') return found;
  return isMisspelt ? withKeyAlone(near, value) : null;
}

function withKeyAlone(known: KnownKey, value: string): Found {
  return { known, fit: 'no', meant: `${known.key}: ${value}`, isPart: true };
}

function withStart(known: KnownKey, value: string): Found | null {
  const start = startOf(known, value);
  return start && { known, fit: start.fit, meant: `${known.key}: ${start.text}`, isPart: true };
}

function withValue(scan: OptionScan, known: KnownKey, value: string): Found | null {
  if (scan.left <= 0) return null;
  scan.left -= 1;
  for (const spelled of spellings(value)) {
    const fit = known.fit(spelled);
    if (fit !== 'no') return { known, fit, meant: `${known.key}: ${spelled}`, isPart: false };
  }
  return null;
}

/** `approve human`. Prose begins with such words too, so values that may be any word do not count. */
function withoutSeparator(scan: OptionScan, text: string): Found | null {
  const words = text.split(/\s+/, 4);
  for (const count of [2, 1]) {
    const word = words.slice(0, count).join(' ');
    const rest = words.length > count ? text.slice(text.indexOf(words[count] ?? '', word.length)) : '';
    if (rest === '') continue;
    const known = findKey(scan.keys, word);
    const found = known && (withValue(scan, known, rest) ?? withDeciders(known, rest));
    if (found && (found.fit === 'strong' || !found.known.isName || isShort(text))) return found;
  }
  return null;
}

/** `approve by a human` */
function withDeciders(known: KnownKey, rest: string): Found | null {
  const near = known.key === 'approve' ? decidersAlone(rest) : null;
  return near && { known, fit: near.fit, meant: `${known.key}: ${near.text}`, isPart: true };
}

function isShort(text: string): boolean {
  return /^[a-z_*`~]+ [\w./*`~-]+$/.test(text);
}

/**
 * Variants of a value: as written, without emphasis, without the sentence's end, in lower case, before a further
 * option.
 */
function* spellings(value: string): Generator<string> {
  const seen = new Set<string>();
  const bare = withoutEnds(value, '*_~` ', '*_~` ');
  const ended = withoutEnds(bare, '', '.;,)}]|*_~` ');
  const next = bare.length > 500 ? -1 : bare.search(/[;,]\s+[A-Za-z_-]+\s*[:=]/);
  for (const spelled of [value, bare, ended, next < 0 ? '' : bare.slice(0, next).trim(), ended.toLowerCase()]) {
    if (spelled === '' || seen.has(spelled)) continue;
    seen.add(spelled);
    yield spelled;
  }
}

const OPENERS: Readonly<Record<string, string>> = { ')': '(', '}': '{', ']': '[' };

/**
 * Without a regular expression, whose time grows with the square of a long run. A bracket that is opened in the text
 * stays.
 */
function withoutEnds(text: string, atStart: string, atEnd: string): string {
  let [from, to] = [0, text.length];
  while (from < to && atStart.includes(text[from] ?? '')) from += 1;
  const surplus = surplusOf(text);
  for (let last = text[to - 1]; to > from && last !== undefined && atEnd.includes(last); last = text[to - 1]) {
    const left = surplus.get(last) ?? 1;
    if (left <= 0) break;
    if (surplus.has(last)) surplus.set(last, left - 1);
    to -= 1;
  }
  return text.slice(from, to);
}

/** The surplus of each closing bracket over its opening ones. */
function surplusOf(text: string): Map<string, number> {
  const count = (char: string) => text.split(char).length - 1;
  return new Map(Object.entries(OPENERS).map(([closer, opener]) => [closer, count(closer) - count(opener)]));
}
