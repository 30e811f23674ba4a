import { isRecord } from '../../shared/json.js';
import { decodeText, type Part } from './form-parts.js';
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
  readonly envelopeFrom: () => string | null;
}

const foldKey = (name: string) => name.toLowerCase().replace(/[-_]/g, '');

export function jsonFields(mail: Readonly<Record<string, unknown>>): Fields {
  const all = new Map(Object.entries(mail).map(([name, value]) => [foldKey(name), value]));
  const list = all.get('attachments');
  return {
    ...fieldsOf(all),
    files: () => (Array.isArray(list) ? list.filter(isRecord).flatMap(jsonAttachment) : []),
  };
}

/** A raw mail: the names that others give its parts are given to what was parsed. */
export function parsedFields(mail: Readonly<Record<string, unknown>>, files: readonly Attachment[]): Fields {
  return { ...jsonFields(mail), files: () => files };
}

/** A form's fields are in the charsets that its field `charsets` names, as JSON, and else in UTF-8. */
export function formFields(parts: readonly Part[]): Fields {
  const fields = new Map<string, Uint8Array>();
  for (const { name, bytes, file } of parts) {
    if (file === null && !fields.has(foldKey(name))) fields.set(foldKey(name), bytes);
  }
  const charsets = charsetsIn(decodeText(fields.get('charsets') ?? new Uint8Array()));
  const all = new Map([...fields].map(([name, bytes]) => [name, decodeText(bytes, charsets.get(name))]));
  const files = parts.flatMap(({ file, bytes }) => (file === null ? [] : [{ ...file, content: bytes }]));
  return { ...fieldsOf(all), bytes: (name) => fields.get(name) ?? new Uint8Array(), files: () => files };
}

/** `{"subject":"UTF-8","text":"iso-8859-2"}`. */
function charsetsIn(text: string): ReadonlyMap<string, string> {
  const told = text.length < 10_000 ? tryJson(text) : null;
  const entries = isRecord(told) ? Object.entries(told) : [];
  return new Map(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[foldKey(name), value]] : [])));
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function fieldsOf(all: ReadonlyMap<string, unknown>): Omit<Fields, 'files'> {
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
  if (typeof value === 'number') return String(value);
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
  const envelope = typeof value === 'string' && value.length < 10_000 ? tryJson(value) : value;
  const from = isRecord(envelope) ? envelope.from : undefined;
  return typeof from === 'string' ? from.trim() : null;
}

/** A file of a JSON mail: its bytes in base64. One that has only a link is left out: nothing is fetched for a stranger. */
function jsonAttachment(one: Readonly<Record<string, unknown>>): Attachment[] {
  const all = new Map(Object.entries(one).map(([name, value]) => [foldKey(name), value]));
  const pick = (...names: readonly string[]) =>
    names.map((name) => textOf(all.get(name))).find((text) => text !== '') ?? '';
  const content = pick('content', 'contentbase64');
  if (content === '') return [];
  const type = pick('contenttype', 'type', 'mimetype');
  return [{ name: pick('filename', 'name'), type, content: new Uint8Array(Buffer.from(content, 'base64')) }];
}
