import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { exampleOf } from '../../src/models/index.js';
import type { JsonObject } from '../../src/shared/json.js';
import { fc, runs } from '../support/properties.js';

const object = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
});

test.each<[JsonObject, unknown]>([
  [object({ a: { type: 'string' }, b: { type: 'integer' } }, ['a']), { a: '[scripted]' }],
  [object({ a: { enum: ['low', 'high'] } }), { a: 'low' }],
  [object({ a: { const: 7 } }), { a: 7 }],
  [object({ a: { type: 'string', examples: ['tea'] } }), { a: 'tea' }],
  [object({ a: { type: 'number', default: 3 } }), { a: 3 }],
  [object({ a: { type: ['string', 'null'] } }), { a: '[scripted]' }],
  [object({ a: { type: 'string', minLength: 20, maxLength: 22 } }), { a: '[scripted]..........' }],
  [object({ a: { type: 'string', maxLength: 3 } }), { a: '[sc' }],
  [object({ a: { type: 'string', format: 'date' } }), { a: '2026-01-01' }],
  [object({ a: { type: 'string', pattern: '^[A-Z]+$' } }), { a: 'SCRIPTED' }],
  [object({ a: { type: 'integer', minimum: 3 } }), { a: 3 }],
  [object({ a: { type: 'integer', exclusiveMinimum: 3, multipleOf: 5 } }), { a: 10 }],
  [object({ a: { type: 'number', maximum: -2 } }), { a: -2 }],
  [object({ a: { type: 'array', items: { type: 'boolean' }, minItems: 2 } }), { a: [true, true] }],
  [object({ a: { type: 'array', items: { type: 'boolean' } } }), { a: [] }],
  [object({ a: { anyOf: [{ type: 'string', pattern: '(' }, { type: 'null' }] } }), undefined],
  [object({ a: { oneOf: [{ type: 'null' }, { type: 'string' }] } }), { a: null }],
  [{ allOf: [object({ a: { type: 'null' } }), object({ b: { type: 'boolean' } })] }, { a: null, b: true }],
  [
    { $ref: '#/$defs/item', $defs: { item: object({ a: { $ref: '#/$defs/flag' } }), flag: { type: 'boolean' } } },
    { a: true },
  ],
  [{ required: ['free'] }, { free: {} }],
  [{ type: 'array', minItems: 1, items: { type: 'integer' } }, [0]],
  [{ type: 'string' }, '[scripted]'],
  [{ not: {} }, undefined],
  [object({ a: { enum: [] } }), undefined],
  [{ $ref: '#' }, undefined],
  [{ type: 'object', properties: { again: { $ref: '#' } }, required: ['again'] }, undefined],
])('of %j it is %j', (schema, example) => {
  expect(exampleOf(schema)).toEqual(example);
});

const scalar = fc.oneof(
  fc.constant({ type: 'string' }),
  fc.record({ type: fc.constant('string'), minLength: fc.nat(30) }),
  fc.record({ type: fc.constant('integer'), minimum: fc.integer({ min: -1_000, max: 1_000 }) }),
  fc.record({
    type: fc.constant('integer'),
    maximum: fc.integer({ min: -1_000, max: 1_000 }),
    multipleOf: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({ type: fc.constant('number'), exclusiveMaximum: fc.integer({ min: -1_000, max: 1_000 }) }),
  fc.constant({ type: 'boolean' }),
  fc.record({
    enum: fc.uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), { minLength: 1 }),
  }),
);
const { schema: anySchema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    scalar as fc.Arbitrary<JsonObject>,
    fc
      .dictionary(fc.string({ minLength: 1, maxLength: 6 }), tie('schema'), { maxKeys: 4, noNullPrototype: true })
      .map((properties) => object(properties)),
    fc.record({
      type: fc.constant('array'),
      items: tie('schema'),
      minItems: fc.nat(3),
    }) as unknown as fc.Arbitrary<JsonObject>,
    fc.record({
      anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
    }) as unknown as fc.Arbitrary<JsonObject>,
  ),
}));

const ajv = new Ajv({ strict: false, logger: false, addUsedSchema: false });

test('what it finds validates, and for the common shapes it finds something', () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      const example = exampleOf(schema);
      expect(example).not.toBeUndefined();
      expect(ajv.validate(schema, example)).toBe(true);
    }),
    runs(100),
  );
});
