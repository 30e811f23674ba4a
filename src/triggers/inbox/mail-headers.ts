import { isRecord } from '../../shared/json.js';
import { textOf } from './field-text.js';
import type { Fields } from './fields.js';

const MAX_HEADERS = 200;
const MAX_VALUE = 2_000;
const PLACES = ['headers', 'messageheaders', 'headerlines', 'headerlist', 'internetmessageheaders'];

/**
 * The mail's headers by lower-case name with hyphens, the first of each. Providers send them as lines of text, as JSON
 * text, as an object, or as a list of pairs, `{ name, value }`, `{ key, value }`, `{ key, line }` or `{ <name>: value
 * }`. A separate field of the provider, such as Message-Id, is used when the header is missing.
 */
export function mailHeaders(fields: Fields): Record<string, string> {
  const listed = PLACES.flatMap((place) => entriesOf(fields.raw(place)));
  const beside = [
    ['message-id', fields.text('messageid')],
    ['in-reply-to', fields.text('inreplyto')],
    ['references', fields.text('references')],
    ['auto-submitted', fields.text('autosubmitted')],
    ['precedence', fields.text('precedence')],
    ['return-path', fields.text('returnpath')],
  ] as const;
  const headers = new Map<string, string>();
  for (const [name, value] of [...listed, ...beside.filter(([, value]) => value !== '')]) {
    const key = name.trim().toLowerCase().replaceAll('_', '-');
    if (headers.size < MAX_HEADERS && /^[!-9;-~]{1,100}$/.test(key) && !headers.has(key)) {
      headers.set(key, value.slice(0, MAX_VALUE));
    }
  }
  return Object.fromEntries(headers);
}

type Entries = readonly (readonly [name: string, value: string])[];

function entriesOf(raw: unknown): Entries {
  if (typeof raw === 'string') return /^\s*[[{]/.test(raw) ? entriesOf(tryJson(raw)) : linesOf(raw);
  if (Array.isArray(raw)) return raw.flatMap(pairOf);
  return isRecord(raw) ? Object.entries(raw).flatMap(([name, value]) => pairOf([name, value])) : [];
}

function pairOf(one: unknown): Entries {
  if (Array.isArray(one)) return entry(one[0], one[1]);
  if (!isRecord(one)) return [];
  const fold = Object.fromEntries(Object.entries(one).map(([key, value]) => [key.toLowerCase(), value]));
  const name = fold.name ?? fold.key;
  if (typeof name === 'string' && 'value' in fold) return entry(name, fold.value);
  if (typeof fold.line === 'string') return linesOf(fold.line);
  return Object.entries(one).flatMap(([key, value]) => entry(key, value));
}

function entry(name: unknown, value: unknown): Entries {
  const first = Array.isArray(value) ? value[0] : value;
  const text = typeof first === 'string' ? first : textOf(first);
  return typeof name === 'string' && (typeof first === 'string' || text !== '') ? [[name, text]] : [];
}

function linesOf(text: string): Entries {
  const lines = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  return lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const] : [];
  });
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
