import type { Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';

/** What a form's part in an HTML page is when no file was chosen for it. */
const isLeftOut = (file: File): boolean => file.name === '' && file.size === 0;

/** The parts of a multipart form; null when the body is not the form that its type names. */
export async function readParts(type: string, body: Uint8Array): Promise<FormData | null> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData().catch(() => null);
}

/** The texts of a multipart form, in their order. A file is refused: a run's input holds none. */
export async function readTexts(type: string, body: Uint8Array): Promise<readonly (readonly [string, string])[]> {
  const parts = await readParts(type, body);
  if (parts === null) throw new Refusal('malformed', 'the body is not the form that its Content-Type names');
  return [...parts].flatMap(([name, value]) => {
    if (typeof value === 'string') return [[name, value] as const];
    if (isLeftOut(value)) return [];
    throw new Refusal('unsupported_type', `the form holds a file, ${name}: send texts alone, or a link to the file`);
  });
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
