import type { Json } from '../shared/json.js';
import { jsonShapeFault } from '../shared/json-shape.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import { storableJson } from '../shared/storable-json.js';

const JSON_TYPE = /^application\/([\w.+-]+\+)?json$/;
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** What was sent, as conditions and steps read it: JSON, a form's fields, or a text. Null for an empty body. */
export function readDelivered({ type: header, body }: { readonly type: string; readonly body: Uint8Array }): Json {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type.startsWith('multipart/')) {
    throw new Refusal('unsupported_type', 'send the delivery as JSON, as a plain form or as text');
  }
  const text = decode(body);
  if (text.trim() === '') return null;
  if (type === FORM_TYPE) return readForm(text);
  if (JSON_TYPE.test(type)) return parse(text);
  // Some senders name no type, or a wrong one, for what is JSON all the same.
  const isJson = /^\s*[{[]/.test(text) && jsonShapeFault(text) === null;
  return isJson ? (tryParse(text) ?? storable(text)) : storable(text);
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new Refusal('malformed', 'the body is no UTF-8 text: send JSON, a form or text');
  }
}

function parse(text: string): Json {
  const fault = jsonShapeFault(text);
  if (fault !== null) throw new Refusal('refused', `the body ${fault}`);
  try {
    return storable(JSON.parse(text) as Json);
  } catch (error) {
    throw new Refusal('malformed', `the body is not JSON: ${errorMessage(error)}`);
  }
}

function tryParse(text: string): Json | undefined {
  try {
    return storable(JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** Code hosts and chats may send their JSON as the field `payload` of a form. */
function readForm(text: string): Json {
  // What curl sends by default: taken as a form, the JSON would become a key.
  if (/^\s*[{[]/.test(text)) return parse(text);
  const fields = new URLSearchParams(text);
  const names = [...new Set(fields.keys())];
  const payload = fields.get('payload');
  if (names.length === 1 && payload !== null && /^\s*[{[]/.test(payload)) return parse(payload);
  return storable(
    Object.fromEntries(
      names.map((name) => {
        const [first = '', ...more] = fields.getAll(name);
        return [name, more.length === 0 ? first : [first, ...more]];
      }),
    ),
  );
}

/** Without what Postgres cannot hold: a sender cannot be told to leave it out. */
function storable(value: Json): Json {
  return JSON.parse(storableJson(value)) as Json;
}
