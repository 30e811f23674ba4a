import { decodeLossy } from '../../shared/charset.js';
import { isRecord } from '../../shared/json.js';
import { foldKey, textOf } from './field-text.js';
import type { Part } from './form-parts.js';
import type { Attachment } from './mail.js';

/** Where providers put the files of a mail: a list, or an object by their names. */
const LISTS = ['attachments', 'inlines', 'images', 'attachment'];

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

type Read = Attachment | string;

/**
 * The files of a JSON mail; a sentence for each attachment without bytes. The mail is accepted without it: a provider
 * that is refused only sends the same mail again. Links to files are not fetched, since the sender is not
 * authenticated.
 */
function jsonAttachments(all: ReadonlyMap<string, unknown>): readonly Read[] {
  const listed = LISTS.flatMap((name) => {
    const list = all.get(name);
    if (Array.isArray(list)) return list.filter(isRecord);
    return isRecord(list) ? Object.values(list).filter(isRecord) : [];
  });
  return [...listed.map(readAttachment), ...mailjetAttachments(all)];
}

function readAttachment(one: Readonly<Record<string, unknown>>): Read {
  const all = new Map(Object.entries(one).map(([name, value]) => [foldKey(name), value]));
  const pick = (...names: readonly string[]) =>
    names.map((name) => textOf(all.get(name))).find((text) => text !== '') ?? '';
  const name = pick('filename', 'name');
  const bytes = ['content', 'contentbase64', 'contentbytes', 'data'].map((key) => all.get(key)).find(isContent);
  const isPlain = all.get('base64') === false;
  return attachment(name, pick('contenttype', 'type', 'mimetype'), bytesOf(bytes, isPlain));
}

/** Mailjet: `Parts` names the fields `Attachment1` and so on, and has their headers. */
function mailjetAttachments(all: ReadonlyMap<string, unknown>): readonly Read[] {
  const parts = all.get('parts');
  return (Array.isArray(parts) ? parts.filter(isRecord) : []).flatMap((part): readonly Read[] => {
    const { ContentRef: ref, Headers: headers } = part;
    if (typeof ref !== 'string' || !/attachment/i.test(ref)) return [];
    const header = new Map(
      Object.entries(isRecord(headers) ? headers : {}).map(([k, v]) => [k.toLowerCase(), textOf(v)]),
    );
    const type = header.get('content-type') ?? '';
    const name = parameter(header.get('content-disposition') ?? '', 'filename') ?? parameter(type, 'name') ?? '';
    const content = all.get(foldKey(ref));
    return [attachment(name, type, bytesOf(isContent(content) ? content : undefined, false))];
  });
}

function attachment(name: string, type: string, content: Uint8Array | string): Read {
  if (typeof content !== 'string') return { name, type, content };
  return `attachment ${name.slice(0, 100) || 'without a name'} was left out: ${content}`;
}

/** `{ type: 'Buffer', data: [...] }` is how Node writes bytes as JSON. */
function isContent(value: unknown): value is string | Readonly<Record<string, unknown>> {
  return typeof value === 'string' || (isRecord(value) && Array.isArray(value.data));
}

function bytesOf(
  content: string | Readonly<Record<string, unknown>> | undefined,
  isPlain: boolean,
): Uint8Array | string {
  if (content === undefined) return 'it has no content, and no link is followed';
  if (typeof content !== 'string') return Uint8Array.from((content.data as readonly unknown[]).map(Number));
  if (isPlain) return new Uint8Array(Buffer.from(content));
  return base64(content) ?? 'its content is not base64';
}

/** Null for invalid base64, which Buffer would accept by skipping characters. */
function base64(text: string): Uint8Array | null {
  const compact = text.replace(/\s+/g, '');
  const digits = compact.slice(0, compact.length - (/={1,2}$/.exec(compact.slice(-2))?.[0].length ?? 0));
  if (digits.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(digits)) return null;
  return new Uint8Array(Buffer.from(digits, 'base64'));
}

function parameter(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"([^"]{0,300})"|([^;\\s]{1,300}))`, 'i').exec(header) ?? [];
  return quoted ?? plain;
}
