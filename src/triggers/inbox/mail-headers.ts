import { isRecord } from '../../shared/json.js';
import type { Fields } from './fields.js';

const MAX_HEADERS = 200;
const MAX_VALUE = 2_000;

/**
 * The mail's headers by lower-case name, the first of each: told as a text of lines, as an object, or as a list of
 * `{ name, value }` or pairs. What a provider tells beside them (Message-Id, In-Reply-To) counts where they are silent.
 */
export function mailHeaders(fields: Fields): Record<string, string> {
  const told = [...entriesOf(fields.raw('headers')), ...entriesOf(fields.raw('messageheaders'))];
  const beside = [
    ['message-id', fields.text('messageid')],
    ['in-reply-to', fields.text('inreplyto')],
    ['references', fields.text('references')],
    ['auto-submitted', fields.text('autosubmitted')],
    ['precedence', fields.text('precedence')],
    ['return-path', fields.text('returnpath')],
  ] as const;
  const headers = new Map<string, string>();
  for (const [name, value] of [...told, ...beside.filter(([, value]) => value !== '')]) {
    const key = name.toLowerCase();
    if (headers.size < MAX_HEADERS && /^[!-9;-~]{1,100}$/.test(key) && !headers.has(key)) {
      headers.set(key, value.slice(0, MAX_VALUE));
    }
  }
  return Object.fromEntries(headers);
}

type Entries = readonly (readonly [name: string, value: string])[];

function entriesOf(raw: unknown): Entries {
  if (typeof raw === 'string') return raw.trimStart().startsWith('[') ? entriesOf(tryJson(raw)) : linesOf(raw);
  if (Array.isArray(raw)) return raw.flatMap(pairOf);
  return isRecord(raw) ? Object.entries(raw).flatMap(([name, value]) => pairOf([name, value])) : [];
}

function pairOf(one: unknown): Entries {
  const fold = isRecord(one) ? Object.fromEntries(Object.entries(one).map(([k, v]) => [k.toLowerCase(), v])) : null;
  const [name, value] = Array.isArray(one) ? one : [fold?.name, fold?.value];
  const first = Array.isArray(value) ? value[0] : value;
  return typeof name === 'string' && typeof first === 'string' ? [[name, first]] : [];
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
