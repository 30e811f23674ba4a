import { Ajv } from 'ajv';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { atPointer } from '../../shared/json-pointer.js';

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  time: '00:00:00Z',
  'date-time': '2026-01-01T00:00:00Z',
  email: 'scripted@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  hostname: 'example.com',
  duration: 'P1D',
};

// Texts to try for a `pattern`, which is not solved. The whole instance is validated afterwards.
const TRIES = [
  '[scripted]',
  'scripted',
  'Scripted',
  'SCRIPTED',
  'a',
  'A',
  '1',
  '10',
  '2026-01-01',
  'a-1',
  'A-1',
  '+10000000',
  '1.0.0',
  '#000000',
];

const DEEPEST = 24;

// One instance for all: creating it costs as much as a hundred schemas. It caches none of them.
const ajv = new Ajv({ strict: false, validateFormats: false, logger: false, addUsedSchema: false });

/**
 * A minimal instance of a JSON Schema: const, examples, default, the first of an enum, required properties only, the
 * shortest arrays. Undefined when none that validates is found.
 */
export function exampleOf(schema: JsonObject): Json | undefined {
  const value = build(schema, { root: schema, depth: 0 });
  if (value === undefined) return undefined;
  try {
    return ajv.validate(schema, value) === true ? value : undefined;
  } catch {
    return undefined;
  } finally {
    ajv.removeSchema(schema);
  }
}

interface Place {
  readonly root: JsonObject;
  readonly depth: number;
}

function build(schema: unknown, place: Place): Json | undefined {
  if (schema === true) return {};
  if (!isRecord(schema) || place.depth > DEEPEST) return undefined;
  const deeper = { ...place, depth: place.depth + 1 };
  if (typeof schema.$ref === 'string') return build(resolveRef(schema, place.root), deeper);
  const given = givenValue(schema);
  if (given !== undefined) return given;
  if (Array.isArray(schema.allOf)) return build(merge(without(schema, 'allOf'), schema.allOf, place.root), deeper);
  const choices = [schema.oneOf, schema.anyOf].find(Array.isArray);
  if (choices) return firstBuilt(choices, without(schema, schema.oneOf === choices ? 'oneOf' : 'anyOf'), deeper);
  return SHAPES[typeOf(schema)](schema as JsonObject, deeper);
}

const SHAPES = {
  object: buildObject,
  array: buildArray,
  string: exampleText,
  number: exampleNumber,
  integer: exampleNumber,
  boolean: () => true,
  null: () => null,
} as const satisfies Record<string, (schema: JsonObject, place: Place) => Json | undefined>;

function buildObject(schema: JsonObject, place: Place): Json | undefined {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const entries: [string, Json][] = [];
  for (const name of required) {
    const value = build(Object.hasOwn(properties, name) ? properties[name] : true, place);
    if (value === undefined) return undefined;
    entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

function buildArray(schema: JsonObject, place: Place): Json | undefined {
  const least = typeof schema.minItems === 'number' ? schema.minItems : 0;
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const items: Json[] = [];
  for (let index = 0; index < Math.min(least, 1_000); index += 1) {
    const item = build(first[index] ?? schema.items ?? true, place);
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

function givenValue(schema: Record<string, unknown>): Json | undefined {
  if (schema.const !== undefined) return schema.const as Json;
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0] as Json;
  if (schema.default !== undefined) return schema.default as Json;
  return Array.isArray(schema.enum) ? (schema.enum[0] as Json) : undefined;
}

function typeOf(schema: Record<string, unknown>): keyof typeof SHAPES {
  const named = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (typeof named === 'string' && Object.hasOwn(SHAPES, named)) return named as keyof typeof SHAPES;
  return 'items' in schema || 'minItems' in schema ? 'array' : 'object';
}

function firstBuilt(choices: readonly unknown[], rest: Record<string, unknown>, place: Place): Json | undefined {
  for (const choice of choices) {
    const value = build(merge(rest, [choice], place.root), place);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Merges schemas that must all hold: properties and required add up, for other keywords the later wins. */
function merge(base: Record<string, unknown>, parts: readonly unknown[], root: JsonObject): Record<string, unknown> {
  const wholes = parts.filter(isRecord).map((part) => resolveRef(part, root));
  const all = [base, ...wholes];
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(({ properties }) => asRecord(properties))),
    required: all.flatMap(({ required }) => asList(required)),
  };
}

/** Merges the schema with the target of its reference. Keywords beside the reference win. */
function resolveRef(schema: Record<string, unknown>, root: JsonObject): Record<string, unknown> {
  return typeof schema.$ref === 'string'
    ? { ...resolvePointer(schema.$ref, root), ...without(schema, '$ref') }
    : schema;
}

/** The target of a reference within the schema. */
function resolvePointer(ref: string, root: JsonObject): Record<string, unknown> {
  return ref.startsWith('#') ? asRecord(atPointer(root, ref)) : {};
}

function without(schema: Record<string, unknown>, key: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== key));
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text that says that it is an example, where length and format allow. */
function exampleText(schema: JsonObject): string {
  const format = FORMATS[String(schema.format)];
  if (format !== undefined) return format;
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  const text = typeof schema.pattern === 'string' ? matchOf(schema.pattern) : '[scripted]';
  return text.padEnd(Math.min(least, 100_000), '.').slice(0, most);
}

function matchOf(pattern: string): string {
  const isMatch = (text: string) => {
    try {
      return new RegExp(pattern, 'u').test(text);
    } catch {
      return false;
    }
  };
  return TRIES.find(isMatch) ?? '[scripted]';
}

/** The number nearest to zero within the bounds. */
function exampleNumber(schema: JsonObject): number {
  const step = typeof schema.multipleOf === 'number' && schema.multipleOf > 0 ? schema.multipleOf : null;
  const unit = step ?? (schema.type === 'integer' ? 1 : 0.5);
  const low = Math.max(bound(schema.minimum, -Infinity), bound(schema.exclusiveMinimum, -Infinity, unit));
  const high = Math.min(bound(schema.maximum, Infinity), bound(schema.exclusiveMaximum, Infinity, -unit));
  const value = Math.min(Math.max(0, low), high);
  if (value === 0 || (step === null && schema.type !== 'integer')) return value;
  return value > 0 ? Math.ceil(value / unit) * unit : Math.floor(value / unit) * unit;
}

function bound(value: unknown, none: number, shift = 0): number {
  return typeof value === 'number' ? value + shift : none;
}
