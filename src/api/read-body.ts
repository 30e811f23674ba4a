import type { RouteConfig } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { charsetOf, decodeIn, fieldsIn, notUtf8 } from '../shared/charset.js';
import { bodyTooLarge, contentCoding, decodeContent } from '../shared/content-coding.js';
import { parseJson } from '../shared/exact-json.js';
import { isRecord } from '../shared/json.js';
import { duplicateKey } from '../shared/json-keys.js';
import { jsonShapeFault } from '../shared/json-shape.js';
import { Refusal } from '../shared/refusal.js';
import type { Access, AppEnv } from './env.js';
import { missingFirst, requireThing } from './guard.js';
import { BodyBudget, declaredLength, readRawBody } from './take-body.js';

const JSON_TYPE = /^application\/([\w.-]+\+)?json$/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded$/i;

/**
 * A request's headers may be this long anyway, so a body up to this size is read before its proof is checked, once, by
 * the verb.
 */
const FREE_BYTES = 16 * 1024;

/** Limit of all unproven bodies in the process. */
const UNPROVEN_BYTES = 64 * 1024 * 1024;
const unprovenBodies = new BodyBudget(UNPROVEN_BYTES);

export interface ReadBodyOptions {
  readonly access: Access;
  readonly maxBytes: number;
  /** The proof covers the whole body, so the body is received before anything is proven. */
  readonly provenByBody: boolean;
}

/**
 * Reads the body once its sender is known, within its limits, and parses it before the validators. They would refuse
 * the same faults, but without checking whether the object exists and without saying what to do.
 */
export function readBody(route: RouteConfig, options: ReadBodyOptions): MiddlewareHandler<AppEnv> {
  const types = Object.keys(route.request?.body?.content ?? {});
  const takesJson = types.some((type) => JSON_TYPE.test(type));
  const takesOther = types.some((type) => !JSON_TYPE.test(type));
  // The bytes may be signed, so the verb decodes them after it has checked the signature.
  const isRaw = types.includes('*/*');
  const isOptional = route.request?.body?.required !== true;
  return async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const type = typeOf(c);
    const isJson = takesJson && (!takesOther || JSON_TYPE.test(type));
    await missingFirst(async () => {
      if (isJson && type !== '' && !JSON_TYPE.test(type)) throw notJson();
      const encoding = c.req.header('content-encoding');
      contentCoding(encoding);
      const bytes = await readProven(c, options);
      const body = isRaw ? bytes : await decodeContent(bytes, { header: encoding, maxBytes: options.maxBytes });
      setBody(c, { arrayBuffer: bufferOf(body) });
      if (isJson) readJson(c, body, isOptional);
      else if (!isRaw && FORM_TYPE.test(type)) setBody(c, { formData: readForm(c, body) });
    })(c);
    await next();
  };
}

async function readProven(
  c: Context<AppEnv>,
  { access, maxBytes, provenByBody }: ReadBodyOptions,
): Promise<Uint8Array> {
  const declared = declaredLength(c);
  if (declared !== null && declared > maxBytes) throw bodyTooLarge(maxBytes);
  if (access === 'token' && (declared === null || declared > FREE_BYTES)) await requireThing(c);
  return readRawBody(c, { maxBytes, unproven: provenByBody ? unprovenBodies : null });
}

/** Stores the body as the framework would, so that validators and handlers find it. */
function setBody(c: Context<AppEnv>, read: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(read)) Object.assign(c.req.bodyCache, { [key]: Promise.resolve(value) });
}

/** Avoids a copy when the bytes have their own buffer. */
function bufferOf(bytes: Uint8Array): ArrayBufferLike {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : new Uint8Array(bytes).buffer;
}

function readJson(c: Context<AppEnv>, bytes: Uint8Array, isOptional: boolean): void {
  if (typeOf(c) === '' && bytes.byteLength > 0) throw notJson();
  if (typeOf(c) === '') return;
  const sent = decodeIn(bytes, charsetOf(c.req.header('content-type') ?? ''));
  if (sent === null) throw notUtf8('the body');
  // Some clients set a content type without a body, which a validator would report as truncated JSON.
  const text = sent === '' && isOptional ? '{}' : sent;
  if (text.trim() === '') throw new Refusal('malformed', 'the body is empty: send JSON, {} at least');
  const fault = jsonShapeFault(text);
  if (fault !== null) throw new Refusal('refused', `the body ${fault}`);
  const value = parse(text);
  refuseDuplicateKey(text);
  refuseHalfPairs(text, value);
  setBody(c, { text });
  // The framework would parse the text again and round large integers.
  c.req.json = <T>() => Promise.resolve(value as T);
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Refusal('malformed', `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function refuseDuplicateKey(text: string): void {
  const key = duplicateKey(text);
  if (key === null) return;
  throw new Refusal('malformed', `the body has the key ${JSON.stringify(key)} twice in one object: send it once`, {
    code: 'duplicate-key',
  });
}

/** Half a surrogate pair has no UTF-8 bytes: the database or a file would store another character. */
function refuseHalfPairs(text: string, value: unknown): void {
  // Decoded text contains none, so only an escape can produce one.
  if (!/\\u[dD][89a-fA-F]/.test(text)) return;
  const path = halfPairIn(value, ['body']);
  if (path === null) return;
  const message = 'it holds half a surrogate pair, which is not text';
  const issues = [{ path: path.join('.'), message }];
  throw new Refusal('refused', `${path.join('.')}: ${message}`, { code: 'invalid', issues });
}

/** The path of the first one; null when there is none. */
function halfPairIn(value: unknown, path: readonly string[]): readonly string[] | null {
  if (typeof value === 'string') return isHalved(value) ? path : null;
  if (!Array.isArray(value) && !isRecord(value)) return null;
  for (const [key, one] of Object.entries(value)) {
    if (isHalved(key)) return path;
    const found = halfPairIn(one, [...path, key]);
    if (found !== null) return found;
  }
  return null;
}

const isHalved = (text: string): boolean => /\p{Surrogate}/u.test(text);

/** The validators would read the form as UTF-8 and replace invalid bytes. */
function readForm(c: Context<AppEnv>, bytes: Uint8Array): FormData {
  const fields = fieldsIn(bytes, charsetOf(c.req.header('content-type') ?? ''));
  if (fields === null) throw notUtf8('the form');
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}

function typeOf(c: Context<AppEnv>): string {
  return c.req.header('content-type')?.split(';')[0]?.trim() ?? '';
}

function notJson(): Refusal {
  return new Refusal('unsupported_type', 'send the body as JSON, with Content-Type: application/json');
}
