import { decodeLossy } from '../../shared/charset.js';
import { isRecord } from '../../shared/json.js';
import { foldKey, textOf } from './field-text.js';
import type { Part } from './form-parts.js';
import { jsonAttachments } from './json-attachments.js';
import type { Attachment } from './mail.js';

/** The fields of a mail as a provider sends them. Names are compared without case, `-`, `_` and spaces. */
export interface Fields {
  /** The names as they were sent. */
  readonly names: readonly string[];
  readonly has: (name: string) => boolean;
  /** The field as a text; addresses joined by commas; empty when there is none. */
  readonly text: (name: string) => string;
  /** The field as it came. */
  readonly raw: (name: string) => unknown;
  /** The field's bytes, as the sender wrote them. */
  readonly bytes: (name: string) => Uint8Array;
  readonly files: () => readonly Attachment[];
  /** Attachments that could not be read, as sentences. */
  readonly leftOut: () => readonly string[];
  readonly envelopeFrom: () => string | null;
}

export function jsonFields(mail: Readonly<Record<string, unknown>>): Fields {
  const all = new Map(Object.entries(mail).map(([name, value]) => [foldKey(name), value]));
  const read = jsonAttachments(all);
  return {
    ...fieldsOf(all),
    names: Object.keys(mail),
    files: () => read.filter((one) => typeof one !== 'string'),
    leftOut: () => read.filter((one) => typeof one === 'string'),
  };
}

/** The fields of a parsed raw mail. */
export function parsedFields(mail: Readonly<Record<string, unknown>>, files: readonly Attachment[]): Fields {
  return { ...jsonFields(mail), files: () => files, leftOut: () => [] };
}

/** A form's fields are in the charsets that its field `charsets` names, as JSON, and else in UTF-8. */
export function formFields(parts: readonly Part[]): Fields {
  const fields = new Map<string, Uint8Array>();
  const names = parts.filter(({ file }) => file === null).map(({ name }) => name);
  for (const { name, bytes, file } of parts) {
    if (file === null && !fields.has(foldKey(name))) fields.set(foldKey(name), bytes);
  }
  const charsets = charsetsIn(decodeLossy(fields.get('charsets') ?? new Uint8Array()));
  const flat = new Map([...fields].map(([name, bytes]) => [name, decodeLossy(bytes, charsets.get(name))]));
  const all = withNested(flat, parts);
  const files = parts.flatMap(({ file, bytes }) => (file === null ? [] : [{ ...file, content: bytes }]));
  return {
    ...fieldsOf(all),
    names,
    bytes: (name) => fields.get(name) ?? new Uint8Array(),
    files: () => files,
    leftOut: () => [],
  };
}

/** CloudMailin's forms: `headers[message_id]`, `envelope[from]`. */
function withNested(flat: ReadonlyMap<string, string>, parts: readonly Part[]): Map<string, unknown> {
  const all = new Map<string, unknown>(flat);
  for (const group of ['headers', 'envelope']) {
    const inside = parts.flatMap(({ name, bytes, file }) => {
      const key = new RegExp(`^${group}\\[([^\\]]{1,100})\\]`, 'i').exec(name)?.[1];
      return key === undefined || file !== null ? [] : [[key, decodeLossy(bytes)] as const];
    });
    if (inside.length > 0 && !all.has(group)) all.set(group, Object.fromEntries(inside.reverse()));
  }
  return all;
}

/** `{"subject":"UTF-8","text":"iso-8859-2"}`. */
function charsetsIn(text: string): ReadonlyMap<string, string> {
  const parsed = tryJson(text);
  const entries = isRecord(parsed) ? Object.entries(parsed) : [];
  return new Map(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[foldKey(name), value]] : [])));
}

/** Null for invalid JSON, and for a text longer than any provider sends in a field. */
function tryJson(text: string): unknown {
  try {
    return text.length < 10_000 ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function fieldsOf(all: ReadonlyMap<string, unknown>): Omit<Fields, 'files' | 'leftOut' | 'names'> {
  return {
    has: (name) => all.has(name),
    text: (name) => textOf(all.get(name)),
    bytes: (name) => Buffer.from(textOf(all.get(name))),
    raw: (name) => all.get(name),
    envelopeFrom: () => envelopeFrom(all.get('envelope') ?? { from: all.get('envfrom') }),
  };
}

/** Inbound parsers send the envelope as JSON text: `{"to":[…],"from":"…"}`. */
function envelopeFrom(value: unknown): string | null {
  const envelope = typeof value === 'string' ? tryJson(value) : value;
  const from = isRecord(envelope) ? envelope.from : undefined;
  return typeof from === 'string' ? from.trim() : null;
}
