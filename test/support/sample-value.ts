import { isRecord, type Json, type JsonObject } from '../../src/shared/json.js';

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  email: 'a.b@mail.example',
  uri: 'https://example.com/a?b=c',
  uuid: '123e4567-e89b-12d3-a456-426614174000',
};

/** A value that fits a schema, as a model may write it: all properties of the first two levels, then those required. */
export function sampleValue(schema: JsonObject, depth = 0): Json {
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0] as Json;
  if (schema.default !== undefined && typeof schema.pattern === 'string') return schema.default;
  const [way] = Array.isArray(schema.anyOf) ? (schema.anyOf as JsonObject[]) : [];
  if (way && schema.properties === undefined) return sampleValue(way, depth);
  const types = [schema.type ?? (schema.properties === undefined ? 'string' : 'object')].flat();
  return SAMPLES[String(types[0])]?.(schema, depth) ?? 'some text & more';
}

/** Texts of the forms that the documents of the tests ask for. */
const TEXTS = [
  'YWJj',
  'abc',
  '7',
  `sha256:${'a'.repeat(64)}`,
  'a'.repeat(40),
  'a'.repeat(64),
  'https://example.com/a',
  '2026-01-02',
  'a/b',
];

function matching(pattern: string): string {
  const text = TEXTS.find((one) => new RegExp(pattern).test(one));
  if (text === undefined) throw new Error(`no sample matches ${pattern}`);
  return text;
}

const SAMPLES: Readonly<Record<string, (schema: JsonObject, depth: number) => Json>> = {
  integer: (schema) =>
    Math.ceil(Math.min(Number(schema.minimum ?? schema.exclusiveMinimum ?? 6) + 1, Number(schema.maximum ?? 1e9))),
  number: (schema) =>
    Math.min(Number(schema.minimum ?? schema.exclusiveMinimum ?? 1) + 0.5, Number(schema.maximum ?? 1e9)),
  boolean: () => true,
  null: () => null,
  array: (schema, depth) =>
    Array.from({ length: Math.max(1, Number(schema.minItems ?? 1)) }, () =>
      sampleValue(isRecord(schema.items) ? (schema.items as JsonObject) : {}, depth + 1),
    ),
  object: (schema, depth) => {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const properties = isRecord(schema.properties) ? Object.entries(schema.properties as JsonObject) : [];
    const wanted = properties.filter(([name]) => depth < 2 || required.includes(name));
    return Object.fromEntries(wanted.map(([name, one]) => [name, sampleValue(one as JsonObject, depth + 1)]));
  },
  string: (schema) => {
    if (typeof schema.pattern === 'string') return matching(schema.pattern);
    const text = FORMATS[String(schema.format)] ?? 'a b&c/ü';
    return text.padEnd(Number(schema.minLength ?? 0), 'x').slice(0, Number(schema.maxLength ?? 1_000));
  },
};
