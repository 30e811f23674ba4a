import { closest } from '../../shared/closest.js';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';

/** `at` is the path of keys to the fault. */
export type PicoResult = { ok: true; schema: JsonObject } | { ok: false; message: string; at: readonly string[] };

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'any'] as const;
const SHAPES = ['array', 'enum', 'object'] as const;
const MAX_DEPTH = 32;

class Refused extends Error {
  constructor(
    message: string,
    readonly at: readonly string[],
  ) {
    super(message);
  }
}

/**
 * Converts Picoschema, as Dotprompt defines it, to JSON Schema: `name: type, description`, `name?` (optional or null),
 * `name(array|enum|object, description)`, and `(*)` for further keys. Objects are strict.
 */
export function fromPicoschema(value: unknown): PicoResult {
  try {
    return { ok: true, schema: schemaOf(value, []) };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, message: error.message, at: error.at };
    throw error;
  }
}

function schemaOf(value: unknown, at: readonly string[]): JsonObject {
  if (at.length > MAX_DEPTH) throw new Refused('the schema is nested too deep', at);
  if (typeof value === 'string' || value === null) return scalar(value ?? 'null', at);
  if (isRecord(value)) return objectOf(value, at);
  throw new Refused('a type is missing: write one of string, number, integer, boolean, null, any', at);
}

function scalar(text: string, at: readonly string[]): JsonObject {
  const [name, description] = splitComma(text);
  const about = description === '' ? {} : { description };
  if (name === 'any') return about;
  if ((TYPES as readonly string[]).includes(name)) return { type: name, ...about };
  const meant = closest(name, TYPES);
  const hint = meant
    ? `did you mean \`${meant}\`?`
    : `use one of ${TYPES.join(', ')}, and a comma before a description`;
  throw new Refused(`\`${name}\` is not a type: ${hint}`, at);
}

/** The text before the first comma, and the description after it. */
function splitComma(text: string): readonly [string, string] {
  const comma = text.indexOf(',');
  return comma < 0 ? [text.trim(), ''] : [text.slice(0, comma).trim(), text.slice(comma + 1).trim()];
}

function objectOf(fields: Readonly<Record<string, unknown>>, at: readonly string[]): JsonObject {
  const properties: [string, JsonObject][] = [];
  const required: string[] = [];
  let rest: Json = false;
  for (const [key, value] of Object.entries(fields)) {
    const path = [...at, key];
    const field = readKey(key, path);
    if (field.name === '*') {
      rest = described(schemaOf(value, path), field.description);
      continue;
    }
    if (properties.some(([name]) => name === field.name)) throw new Refused(`\`${field.name}\` is there twice`, path);
    const schema = described(shaped(field, value, path), field.description);
    properties.push([field.name, field.optional ? nullable(schema) : schema]);
    if (!field.optional) required.push(field.name);
  }
  const base = { type: 'object', properties: Object.fromEntries(properties), additionalProperties: rest };
  return required.length > 0 ? { ...base, required } : base;
}

interface Field {
  readonly name: string;
  readonly optional: boolean;
  readonly shape: string;
  readonly description: string;
}

function readKey(key: string, at: readonly string[]): Field {
  const [, before = '', optional, inner] = /^([^()?]*)(\?)?(?:\((.*)\))?$/s.exec(key) ?? [];
  const name = before.trim();
  const [shape, description] = splitComma(inner ?? '');
  if (shape === '*' && name === '' && !optional) return { name: '*', optional: false, shape, description };
  if (name === '') throw new Refused(`\`${key}\` is not a field: write name, name? or name(array)`, at);
  if (inner !== undefined && !(SHAPES as readonly string[]).includes(shape)) {
    const meant = closest(shape, SHAPES);
    throw new Refused(
      `\`(${shape})\` is not a shape: ${meant ? `did you mean \`(${meant})\`?` : `use ${SHAPES.join(', ')}`}`,
      at,
    );
  }
  return { name, optional: optional === '?', shape, description };
}

function shaped(field: Field, value: unknown, at: readonly string[]): JsonObject {
  if (field.shape === 'array') return { type: 'array', items: schemaOf(value, at) };
  if (field.shape === 'enum') return enumOf(value, at);
  if (field.shape === 'object' && !isRecord(value))
    throw new Refused(`\`${field.name}(object)\` takes fields below it`, at);
  return schemaOf(value, at);
}

function enumOf(value: unknown, at: readonly string[]): JsonObject {
  const isPlain = (entry: unknown) => entry === null || ['string', 'number', 'boolean'].includes(typeof entry);
  if (!Array.isArray(value) || value.length === 0 || !value.every(isPlain)) {
    throw new Refused('an enum takes a list of values, like [refund, refuse]', at);
  }
  if (new Set(value).size !== value.length) throw new Refused('an enum names a value twice', at);
  return { enum: value as Json[] };
}

function nullable(schema: JsonObject): JsonObject {
  if (Array.isArray(schema.enum))
    return schema.enum.includes(null) ? schema : { ...schema, enum: [...schema.enum, null] };
  if (typeof schema.type !== 'string' || schema.type === 'null') return schema;
  return { ...schema, type: [schema.type, 'null'] };
}

function described(schema: JsonObject, description: string): JsonObject {
  return description === '' ? schema : { ...schema, description };
}
