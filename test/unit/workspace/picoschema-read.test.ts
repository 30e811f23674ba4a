import { describe, expect, test } from 'vitest';
import { picoschema, readSchema } from '../../../src/format/schema/index.js';
import { fc, runs } from '../../support/properties.js';

const schemaOf = (source: string, info: Parameters<typeof readSchema>[1] = 'yaml schema') => {
  const read = readSchema(source, info);
  if (!read.ok) throw new Error(read.message);
  return read.schema;
};

test('Picoschema becomes a strict JSON Schema', () => {
  const source = [
    'verdict(enum, What to do): [refund, refuse]',
    'amount: number, Amount in EUR, without fees',
    'note?: string',
    'tags(array, Free words): string',
    'who(object):',
    '  name: string',
    '  age?: integer',
    'lines(array):',
    '  sku: string',
    'extra: any',
  ].join('\n');
  expect(schemaOf(source)).toEqual({
    type: 'object',
    additionalProperties: false,
    required: ['verdict', 'amount', 'tags', 'who', 'lines', 'extra'],
    properties: {
      verdict: { enum: ['refund', 'refuse'], description: 'What to do' },
      amount: { type: 'number', description: 'Amount in EUR, without fees' },
      note: { type: ['string', 'null'] },
      tags: { type: 'array', items: { type: 'string' }, description: 'Free words' },
      who: {
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        properties: { name: { type: 'string' }, age: { type: ['integer', 'null'] } },
      },
      lines: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['sku'],
          properties: { sku: { type: 'string' } },
        },
      },
      extra: {},
    },
  });
});

test.each<[string, unknown]>([
  ['(*): number, Anything', { type: 'number', description: 'Anything' }],
  ['(*): any', {}],
])('%s opens the object', (source, expected) => {
  expect(schemaOf(`name: string\n${source}`).additionalProperties).toEqual(expected);
});

test.each<[string, Parameters<typeof readSchema>[1]]>([
  ['type: object\nproperties:\n  a: { type: string }', 'yaml schema'],
  ['{"type": "array", "items": {"type": "string"}}', 'json schema'],
  ['{"type": "string", "pattern": "^a$"}', 'json schema'],
  ['anyOf: [{ type: string }, { type: number }]', 'yaml schema'],
  ['{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}', 'json schema'],
  ['{"type":"object","properties":{"n":{"type":"number"},"child":{"$ref":"#"}}}', 'json schema'],
])('JSON Schema is passed through: %s', (source, info) => {
  const { $schema: _dialect, ...schema } = info.startsWith('json')
    ? JSON.parse(source)
    : { $schema: '', ...schemaOf(source) };
  expect(schemaOf(source, info)).toEqual(schema);
});

test('a Picoschema field may be called like a keyword', () => {
  expect(schemaOf('type: string\ntitle: string, of the book').properties).toEqual({
    type: { type: 'string' },
    title: { type: 'string', description: 'of the book' },
  });
});

describe('what is wrong is said with its line', () => {
  test.each<[string, Parameters<typeof readSchema>[1], number, string]>([
    ['a: strng', 'yaml schema', 1, 'did you mean `string`?'],
    ['a: string\nb:\n  c: [1]', 'yaml schema', 3, 'a type is missing'],
    ['a: string\n\nb(lst): string', 'yaml schema', 3, 'is not a shape'],
    ['a(enum): red', 'yaml schema', 1, 'an enum takes a list'],
    ['a: string\na?: string', 'yaml schema', 2, 'there twice'],
    ['a: string\na: string', 'yaml schema', 2, ''],
    ['a: &x string\nb: *x', 'yaml schema', 1, ''],
    ['', 'yaml schema', 1, 'empty'],
    ['{"a": "string"\n,}', 'json schema', 2, 'invalid JSON'],
    ['{"type":"object","propertis":{}}', 'json schema', 1, 'propertis'],
    ['{"type":"objct"}', 'json schema', 1, 'invalid'],
    ['{"$ref":"https://a.example/b#"}', 'json schema', 1, 'cannot be followed'],
    ['{"$ref":"#"}', 'json schema', 1, 'without end'],
    ['{"type":"string","pattern":"(?=a)"}', 'json schema', 1, '(?='],
    ['string', 'yaml form', 1, 'a form needs named fields'],
  ])('%s', (source, info, line, message) => {
    expect(readSchema(source, info)).toMatchObject({ ok: false, line, message: expect.stringContaining(message) });
  });
});

test('an `input:` of a flow is read as a value', () => {
  expect(picoschema({ order: 'string, The number', amount: 'number' })).toMatchObject({
    ok: true,
    schema: { required: ['order', 'amount'] },
  });
  expect(picoschema({ order: 'strin' })).toEqual({
    ok: false,
    message: 'order: `strin` is not a type: did you mean `string`?',
  });
  for (const value of [3, true, [], [1], 'nope', undefined]) expect(picoschema(value).ok).toBe(false);
});

test('reading never throws', () => {
  const lines = fc.array(
    fc.constantFrom(
      'a: string',
      'b?(array): ',
      '  c: number',
      '- x',
      'd(enum): [a]',
      '"',
      '{',
      '*',
      '&a',
      '? b',
      'type: object',
      '$ref: "#"',
    ),
  );
  const sources = fc.oneof(
    fc.string({ unit: 'binary' }),
    lines.map((parts) => parts.join('\n')),
    fc.json(),
  );
  const infos = fc.constantFrom('yaml schema', 'json schema', 'yaml form', 'json form');
  fc.assert(
    fc.property(sources, infos, (source, info) => {
      expect(typeof readSchema(source, info as 'yaml schema').ok).toBe('boolean');
    }),
    runs(400),
  );
});
