import { isRecord } from '../../shared/json.js';
import type { Attachment } from './mail.js';

/** What providers tell of a mail, whatever they call it: names are compared without case, `-` and `_`. */
export interface Fields {
  /** The field as a text; addresses joined by commas; empty when there is none. */
  readonly text: (name: string) => string;
  /** The field as it came. */
  readonly raw: (name: string) => unknown;
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

export async function formFields(form: FormData): Promise<Fields> {
  const all = new Map<string, unknown>();
  const files: Attachment[] = [];
  for (const [name, value] of form) {
    if (typeof value !== 'string') files.push({ name: value.name, type: value.type, content: await bytesOf(value) });
    else if (!all.has(foldKey(name))) all.set(foldKey(name), value);
  }
  return { ...fieldsOf(all), files: () => files };
}

async function bytesOf(file: File): Promise<Uint8Array> {
  return new Uint8Array(await file.arrayBuffer());
}

function fieldsOf(all: ReadonlyMap<string, unknown>): Omit<Fields, 'files'> {
  return {
    text: (name) => textOf(all.get(name)),
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
  let envelope = value;
  if (typeof value === 'string' && value.length < 10_000) {
    try {
      envelope = JSON.parse(value);
    } catch {
      return null;
    }
  }
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
