import { decodeLossy } from '../../shared/charset.js';
import { isRecord } from '../../shared/json.js';
import type { Part } from './form-parts.js';
import type { Attachment } from './mail.js';

/** What providers tell of a mail, whatever they call it: names are compared without case, `-` and `_`. */
export interface Fields {
  /** The field as a text; addresses joined by commas; empty when there is none. */
  readonly text: (name: string) => string;
  /** The field as it came. */
  readonly raw: (name: string) => unknown;
  /** The field's bytes, as the sender wrote them. */
  readonly bytes: (name: string) => Uint8Array;
  readonly files: () => readonly Attachment[];
  /** What was meant to be a file and is none, as sentences. */
  readonly leftOut: () => readonly string[];
  readonly envelopeFrom: () => string | null;
}

const foldKey = (name: string) => name.toLowerCase().replace(/[-_]/g, '');

export function jsonFields(mail: Readonly<Record<string, unknown>>): Fields {
  const all = new Map(Object.entries(mail).map(([name, value]) => [foldKey(name), value]));
  const list = all.get('attachments');
  const read = (Array.isArray(list) ? list.filter(isRecord) : []).map(jsonAttachment);
  return {
    ...fieldsOf(all),
    files: () => read.filter((one) => typeof one !== 'string'),
    leftOut: () => read.filter((one) => typeof one === 'string'),
  };
}

/** A raw mail: the names that others give its parts are given to what was parsed. */
export function parsedFields(mail: Readonly<Record<string, unknown>>, files: readonly Attachment[]): Fields {
  return { ...jsonFields(mail), files: () => files, leftOut: () => [] };
}

/** A form's fields are in the charsets that its field `charsets` names, as JSON, and else in UTF-8. */
export function formFields(parts: readonly Part[]): Fields {
  const fields = new Map<string, Uint8Array>();
  for (const { name, bytes, file } of parts) {
    if (file === null && !fields.has(foldKey(name))) fields.set(foldKey(name), bytes);
  }
  const charsets = charsetsIn(decodeLossy(fields.get('charsets') ?? new Uint8Array()));
  const all = new Map([...fields].map(([name, bytes]) => [name, decodeLossy(bytes, charsets.get(name))]));
  const files = parts.flatMap(({ file, bytes }) => (file === null ? [] : [{ ...file, content: bytes }]));
  return {
    ...fieldsOf(all),
    bytes: (name) => fields.get(name) ?? new Uint8Array(),
    files: () => files,
    leftOut: () => [],
  };
}

/** `{"subject":"UTF-8","text":"iso-8859-2"}`. */
function charsetsIn(text: string): ReadonlyMap<string, string> {
  const told = tryJson(text);
  const entries = isRecord(told) ? Object.entries(told) : [];
  return new Map(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[foldKey(name), value]] : [])));
}

/** Null for what is no JSON, and for more of it than a provider tells in a field. */
function tryJson(text: string): unknown {
  try {
    return text.length < 10_000 ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function fieldsOf(all: ReadonlyMap<string, unknown>): Omit<Fields, 'files' | 'leftOut'> {
  return {
    text: (name) => textOf(all.get(name)),
    bytes: (name) => Buffer.from(textOf(all.get(name))),
    raw: (name) => all.get(name),
    envelopeFrom: () => envelopeFrom(all.get('envelope')),
  };
}

/** A text, `{ address | email, name }`, or a list of either. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value))
    return value
      .map(textOf)
      .filter((one) => one !== '')
      .join(', ');
  if (!isRecord(value)) return '';
  const address = textOf(value.address ?? value.email ?? value.value ?? '');
  const name = typeof value.name === 'string' ? value.name.replace(/["\\<>]/g, '') : '';
  return name === '' || address === '' ? address : `"${name}" <${address}>`;
}

/** Inbound parsers tell the envelope as JSON in a text: `{"to":[…],"from":"…"}`. */
function envelopeFrom(value: unknown): string | null {
  const envelope = typeof value === 'string' ? tryJson(value) : value;
  const from = isRecord(envelope) ? envelope.from : undefined;
  return typeof from === 'string' ? from.trim() : null;
}

/**
 * A file of a JSON mail, its bytes in base64; a sentence when it has none. The mail is taken all the same: who is refused
 * sends it again as it is, and in the end loses it. Nothing is fetched for a stranger.
 */
function jsonAttachment(one: Readonly<Record<string, unknown>>): Attachment | string {
  const all = new Map(Object.entries(one).map(([name, value]) => [foldKey(name), value]));
  const pick = (...names: readonly string[]) =>
    names.map((name) => textOf(all.get(name))).find((text) => text !== '') ?? '';
  const name = pick('filename', 'name');
  const left = (why: string) => `attachment ${name.slice(0, 100) || 'without a name'} was left out: ${why}`;
  if (!['content', 'contentbase64'].some((key) => typeof all.get(key) === 'string')) {
    return left('it has no content, and no link is followed');
  }
  const content = base64(pick('content', 'contentbase64'));
  if (content === null) return left('its content is no base64');
  return { name, type: pick('contenttype', 'type', 'mimetype'), content };
}

/** Null for what is none: Buffer passes over whatever it does not know. */
function base64(text: string): Uint8Array | null {
  const compact = text.replace(/\s+/g, '');
  const digits = compact.slice(0, compact.length - (/={1,2}$/.exec(compact.slice(-2))?.[0].length ?? 0));
  if (digits.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(digits)) return null;
  return new Uint8Array(Buffer.from(digits, 'base64'));
}
