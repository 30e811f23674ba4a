import { charsetNamed, charsetOf, decodeIn, fieldsIn, notUtf8 } from '../shared/charset.js';
import { parseJson } from '../shared/exact-json.js';
import { parseExact } from '../shared/exact-numbers.js';
import type { Json } from '../shared/json.js';
import { jsonShapeFault } from '../shared/json-shape.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import { storableJson } from '../shared/storable-json.js';

/** A file input of an HTML form without a chosen file. */
const isLeftOut = (file: File): boolean => file.name === '' && file.size === 0;

const JSON_TYPE = /^application\/([\w.+-]+\+)?json$/;

const FORM_TYPE = 'application/x-www-form-urlencoded';

interface DeliveredBody {
  /** As conditions and steps read it: JSON, a form's fields, or a text; null for an empty body. */
  readonly value: Json;
  /** The same with fractions as texts (1.50), since a double loses digits. Ids are read from here. */
  readonly exact: () => Json;
}

/** Reads a body of JSON, a form or text. */
export async function readDelivered({
  type: header,
  body,
}: {
  type: string;
  body: Uint8Array;
}): Promise<DeliveredBody> {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'multipart/form-data') return ofForm(await readTexts(header, body));
  if (type.startsWith('multipart/')) {
    throw new Refusal('unsupported_type', 'the body is in parts of another kind: send JSON, a form or text');
  }
  const charset = charsetOf(header);
  const text = decode(body, charset);
  if (text.trim() === '') return plain(null);
  if (type === FORM_TYPE) {
    return readForm(text, () => formFields(body, charset));
  }
  if (JSON_TYPE.test(type)) return parse(text);
  // Some senders give no content type, or a wrong one, for JSON.
  const isJson = /^\s*[{[]/.test(text) && jsonShapeFault(text) === null;
  return (isJson ? tryParse(text) : undefined) ?? plain(text);
}

function decode(body: Uint8Array, charset: string | null): string {
  const text = decodeIn(body, charset);
  if (text === null) throw notUtf8('the body');
  return text;
}

function formFields(body: Uint8Array, charset: string | null): readonly (readonly [string, string])[] {
  const fields = fieldsIn(body, charset);
  if (fields === null) throw notUtf8('the body');
  return fields;
}

function parse(text: string): DeliveredBody {
  const fault = jsonShapeFault(text);
  if (fault !== null) throw new Refusal('refused', `the body ${fault}`);
  try {
    return ofJson(text);
  } catch (error) {
    throw new Refusal('malformed', `the body is not JSON: ${errorMessage(error)}`);
  }
}

function tryParse(text: string): DeliveredBody | undefined {
  try {
    return ofJson(text);
  } catch {
    return undefined;
  }
}

function readForm(text: string, fields: () => readonly (readonly [string, string])[]): DeliveredBody {
  // curl sends JSON with the type of a form by default: as a form, all of it would become one key.
  return /^\s*[{[]/.test(text) ? parse(text) : ofForm(fields());
}

/** Code hosts and chats may send their JSON as the field `payload` of a form. */
function ofForm(entries: readonly (readonly [string, string])[]): DeliveredBody {
  const payload = entries.length === 1 && entries[0]?.[0] === 'payload' ? entries[0][1] : null;
  return payload !== null && /^\s*[{[]/.test(payload) ? parse(payload) : plain(formValue(entries));
}

function ofJson(text: string): DeliveredBody {
  return { value: storable(parseJson(text)), exact: () => storable(parseExact(text)) };
}

/** A value without numbers. */
function plain(value: Json): DeliveredBody {
  const stored = storable(value);
  return { value: stored, exact: () => stored };
}

/** Removes what Postgres cannot store, since the sender cannot correct it. */
function storable(value: Json): Json {
  return parseJson(storableJson(value));
}

/** The parts of a multipart form; null when the body is not the form that its type names. */
export async function readParts(type: string, body: Uint8Array): Promise<FormData | null> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData().catch(() => null);
}

/** The texts of a multipart form, in their order. A file is refused: a run's input holds none. */
async function readTexts(type: string, body: Uint8Array): Promise<readonly (readonly [string, string])[]> {
  // Parsed as latin1, since the platform's parser would replace what is not valid UTF-8.
  const parts = await readParts(type, Buffer.from(Buffer.from(body).toString('latin1')));
  if (parts === null) throw new Refusal('malformed', 'the body is not the form that its Content-Type names');
  const named = parts.get('_charset_');
  const charset = typeof named === 'string' ? charsetNamed(named) : null;
  return [...parts].flatMap(([name, value]) => {
    if (typeof value === 'string') return [[partText(name, charset), partText(value, charset)] as const];
    if (isLeftOut(value)) return [];
    const file = partText(name, charset);
    throw new Refusal('unsupported_type', `the form holds a file, ${file}: send texts alone, or a link to the file`);
  });
}

function partText(byteText: string, charset: string | null): string {
  const text = decodeIn(Buffer.from(byteText, 'latin1'), charset === 'utf-8' ? null : charset);
  if (text === null) throw notUtf8('the form');
  return text;
}

/** A form as one value: a field that comes more than once is a list of its texts. */
export function formValue(entries: Iterable<readonly [string, string]>): Json {
  const fields = new Map<string, string | string[]>();
  for (const [name, text] of entries) {
    const before = fields.get(name);
    if (Array.isArray(before)) before.push(text);
    else fields.set(name, before === undefined ? text : [before, text]);
  }
  return Object.fromEntries(fields);
}
