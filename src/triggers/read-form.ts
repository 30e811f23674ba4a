import { charsetNamed, decodeIn, notUtf8 } from '../shared/charset.js';
import type { Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';

/** A file input of an HTML form without a chosen file. */
const isLeftOut = (file: File): boolean => file.name === '' && file.size === 0;

/** The parts of a multipart form; null when the body is not the form that its type names. */
export async function readParts(type: string, body: Uint8Array): Promise<FormData | null> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData().catch(() => null);
}

/** The texts of a multipart form, in their order. A file is refused: a run's input holds none. */
export async function readTexts(type: string, body: Uint8Array): Promise<readonly (readonly [string, string])[]> {
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
