import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { isPattern } from '../values/pattern.js';
import { mergeAllOf } from './merge-all-of.js';
import { originOf } from './origins.js';
import { nameOf, type Part, type References } from './references.js';

/**
 * Maximum number of nodes in an operation's schema for the model. Beyond it, only a value's type and description are
 * shown.
 */
const MAX_NODES = 400;
const MAX_DEPTH = 10;
const MAX_WORDS = 600;

export interface SchemaRoom {
  left: number;
}

export function newRoom(): SchemaRoom {
  return { left: MAX_NODES };
}

interface Place {
  readonly refs: References;
  readonly room: SchemaRoom;
  /** The references on the path to this part: a repeated one is a cycle. */
  readonly open: readonly string[];
}

/**
 * Converts a schema of OpenAPI 3.0 or 3.1 to a self-contained JSON Schema for the arguments of a call. References are
 * resolved. In a cycle, or over the size limit, any value of the type is accepted. The result never refuses what the
 * document allows: `oneOf` becomes `anyOf`, and keywords that cannot be checked here are left out.
 */
export function toSchema(part: Part, place: Place): JsonObject {
  const reached = place.refs.follow(part);
  if (reached === null) return { description: 'Its form is in another document, which cannot be read.' };
  const { value, at, key } = reached;
  if (!isRecord(value)) return {};
  const beside = isRecord(part.value) ? wordsOf(part.value) : {};
  const isCircle = key !== null && place.open.includes(key);
  if (isCircle || place.room.left <= 0 || place.open.length > MAX_DEPTH) {
    const again = isCircle ? { description: `Another ${nameOf(key)}.` } : {};
    return { ...typeOf(value), ...again, ...wordsOf(value), ...beside };
  }
  place.room.left -= 1;
  const inner = { ...place, open: [...place.open, key ?? ''] };
  return { ...convert({ value: mergeAllOf(value, at, place.refs), at }, inner), ...beside };
}

function convert(
  { value, at }: Part & { readonly value: Readonly<Record<string, unknown>> },
  place: Place,
): JsonObject {
  const schema: Record<string, Json> = { ...typeOf(value), ...wordsOf(value), ...valuesOf(value) };
  const of = (inner: unknown) => toSchema({ value: inner, at: originOf(inner, at) }, place);
  for (const [keyword, guard] of LIMITS) if (guard(value[keyword])) schema[keyword] = value[keyword] as Json;
  for (const side of ['Minimum', 'Maximum'] as const) exclusive(schema, value, side);
  if (isRecord(value.properties)) Object.assign(schema, objectOf(value.properties, value.required, of));
  const extra = value.additionalProperties;
  if (extra === false || isRecord(extra)) schema.additionalProperties = extra === false ? false : of(extra);
  if (isRecord(value.items)) schema.items = of(value.items);
  const choices = [value.oneOf, value.anyOf].filter(Array.isArray).flatMap((list) => list as unknown[]);
  const ways = choices.map(of);
  if (value.nullable === true && ways.length > 0) ways.push({ type: 'null' });
  if (ways.length > 0) schema.anyOf = ways;
  if (Array.isArray(value.allOf) && value.allOf.length > 0) schema.allOf = value.allOf.map(of);
  return schema;
}

/**
 * Required properties come first, so that they get the available nodes. Read-only ones are left out, since only answers
 * have them.
 */
function objectOf(
  properties: Readonly<Record<string, unknown>>,
  required: unknown,
  of: (value: unknown) => JsonObject,
): JsonObject {
  const wanted = new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []);
  // A property that is required but not described accepts any value.
  const all = new Set([...Object.keys(properties), ...wanted]);
  const names = [...all].filter((name) => !isReadOnly(properties[name]));
  const ordered = [...names.filter((name) => wanted.has(name)), ...names.filter((name) => !wanted.has(name))];
  const inner = new Map(ordered.map((name) => [name, of(properties[name])]));
  const must = names.filter((name) => wanted.has(name));
  return {
    properties: Object.fromEntries(names.map((name) => [name, inner.get(name) ?? {}])),
    ...(must.length > 0 && { required: must }),
  };
}

function isReadOnly(value: unknown): boolean {
  return isRecord(value) && value.readOnly === true;
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);

function typeOf({ type, nullable, properties, items }: Readonly<Record<string, unknown>>): JsonObject {
  const own = (Array.isArray(type) ? type : [type]).filter((one): one is string => TYPES.has(String(one)));
  if (own.length === 0) {
    if (nullable === true || type !== undefined) return {};
    return isRecord(properties) ? { type: 'object' } : isRecord(items) ? { type: 'array' } : {};
  }
  const all = [...new Set(nullable === true ? [...own, 'null'] : own)];
  return { type: all.length === 1 ? (all[0] ?? 'string') : all };
}

function wordsOf({ description, title, deprecated }: Readonly<Record<string, unknown>>): JsonObject {
  const given = typeof description === 'string' && description.trim() !== '' ? description : title;
  const text = typeof given === 'string' ? given.trim() : '';
  const words = [deprecated === true ? 'Deprecated.' : '', cut(text, MAX_WORDS)]
    .filter((part) => part !== '')
    .join(' ');
  return words === '' ? {} : { description: words };
}

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function valuesOf(value: Readonly<Record<string, unknown>>): JsonObject {
  const list = Array.isArray(value.enum) && value.enum.length > 0 ? (value.enum as Json[]) : null;
  return {
    ...(list && { enum: value.nullable === true && !list.includes(null) ? [...list, null] : list }),
    ...(value.const !== undefined && { const: value.const as Json }),
    ...(value.default !== undefined && { default: value.default as Json }),
    ...(typeof value.format === 'string' && { format: value.format }),
  };
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);

/**
 * Keywords that limit a value, each with a check of its own value, since documents may be wrong. A fractional
 * `multipleOf`, such as 0.01, is left out: in binary numbers 0.07 is not a multiple of it.
 */
const LIMITS: readonly (readonly [keyword: string, guard: (value: unknown) => boolean])[] = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (keyword) => [keyword, isCount] as const,
  ),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((keyword) => [keyword, isNumber] as const),
  ['multipleOf', (value) => Number.isInteger(value) && Number(value) > 0],
  ['uniqueItems', (value) => typeof value === 'boolean'],
  ['pattern', (value) => typeof value === 'string' && isPattern(value)],
];

/** OpenAPI 3.0 has a flag where 3.1 has the number. */
function exclusive(
  schema: Record<string, Json>,
  value: Readonly<Record<string, unknown>>,
  side: 'Minimum' | 'Maximum',
) {
  const plain = side.toLowerCase();
  if (value[`exclusive${side}`] !== true || schema[plain] === undefined) return;
  schema[`exclusive${side}`] = schema[plain] as Json;
  delete schema[plain];
}
