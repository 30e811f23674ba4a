import { describe, expect, test } from 'vitest';
import { picoschema, unsupportedPatterns, validate } from '../../../src/format/schema/index.js';
import type { JsonObject } from '../../../src/shared/json.js';
import { cpuUnit, expectCpu } from '../../support/cpu-cost.js';

const read = picoschema({
  amount: 'number',
  'ok?': 'boolean',
  'items(array)': { price: 'number' },
  'kind(enum)': ['a', 'b'],
});
const schema = read.ok ? read.schema : {};

test('a fitting value has no faults, and an optional field may be null', () => {
  expect(validate(schema, { amount: 1, ok: null, items: [{ price: 2 }], kind: 'a' })).toEqual([]);
});

test('every fault is a sentence that names its path', () => {
  const value = { amount: 'x', items: [{ price: 'y' }, {}], extra: 1, kind: 'c' };
  expect(new Set(validate(schema, value))).toEqual(
    new Set([
      'amount must be number',
      'items[0].price must be number',
      'items[1].price is missing',
      'extra is not a known field',
      'kind must be one of a, b',
    ]),
  );
  expect(validate(schema, 3)).toEqual(['the value must be object']);
});

test('two schemas with different patterns are told apart', () => {
  expect(validate({ type: 'string', pattern: '^a$' }, 'b')).toHaveLength(1);
  expect(validate({ type: 'string', pattern: '^b$' }, 'b')).toEqual([]);
});

test('no schema sees another one’s $id', () => {
  expect(
    validate({ $id: 'http://a.example/b', $defs: { x: { $id: 'http://a.example/c', type: 'number' } } }, 1),
  ).toEqual([]);
  expect(validate({ $ref: 'http://a.example/c' }, 1)[0]).toContain('cannot be followed');
  expect(
    validate({ $defs: { x: { $id: 'http://a.example/c', type: 'string' } }, $ref: 'http://a.example/c' }, 1),
  ).toEqual(['the value must be string']);
});

test('a schema of a foreign tool may have keywords that nobody knows', () => {
  expect(validate({ type: 'object', 'x-order': 1, format: 'odd' }, {})).toEqual([]);
});

/** As zod makes it of `z.email()`; RE2 has no look-ahead. */
const EMAIL = "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";

test('a pattern of a foreign schema that RE2 does not have is left out, and nothing else of the schema', () => {
  const foreign: JsonObject = {
    type: 'object',
    required: ['to'],
    properties: {
      to: { type: 'string', pattern: EMAIL, minLength: 3 },
      code: { type: 'string', pattern: '^[A-Z]{3}$' },
      pattern: { type: 'integer' },
    },
    patternProperties: { '^(?=x)': { type: 'number' }, '^y': { type: 'number' } },
    additionalProperties: false,
  };
  expect(validate(foreign, { to: 'not an address', code: 'ABC', pattern: 1, xy: 'z' })).toEqual([]);
  expect(new Set(validate(foreign, { to: 'a', code: 'abc', pattern: 'p', yz: '1' }))).toEqual(
    new Set([
      'to must NOT have fewer than 3 characters',
      'code must match pattern "^[A-Z]{3}$"',
      'pattern must be integer',
      'yz must be number',
    ]),
  );
  expect(validate(foreign, {})).toEqual(['to is missing']);
  expect(new Set(unsupportedPatterns(foreign))).toEqual(new Set([EMAIL, '^(?=x)']));
  expect(unsupportedPatterns({ type: 'object', properties: { a: { pattern: '^a' } } })).toEqual([]);
});

test.each<[string, JsonObject]>([
  ['a reference to another document', { $ref: 'https://a.example/schema.json' }],
  ['a limit of an older draft', { type: 'number', minimum: 1, exclusiveMinimum: true }],
  ['items of an older draft', { type: 'array', items: [{ type: 'string' }] }],
  ['an unknown type', { type: 'date' }],
])('a foreign schema with %s is checked in all that compiles', (_what, odd) => {
  const foreign: JsonObject = {
    type: 'object',
    required: ['good'],
    properties: { odd, good: { $ref: '#/$defs/short' } },
    $defs: { short: { type: 'string', maxLength: 2 } },
  };
  expect(validate(foreign, { odd: [{}], good: 'ab' })).toEqual([]);
  expect(validate(foreign, { odd: 1 })).toEqual(['good is missing']);
  expect(validate(foreign, { odd: 1, good: 'abc' })).toEqual(['good must NOT have more than 2 characters']);
});

test('equal items are found whatever the order of their keys', () => {
  expect(
    validate({ type: 'array', uniqueItems: true }, [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
  ).toHaveLength(1);
  expect(validate({ type: 'array', uniqueItems: true }, [1, '1', [1]])).toEqual([]);
});

describe('security 16: no schema and no value hangs', () => {
  const doubling = (levels: number) => {
    const steps = Array.from({ length: levels }, (_, i): [string, JsonObject] => {
      const next = { $ref: `#/$defs/a${i + 1}` };
      return [`a${i}`, { allOf: [next, next] }];
    });
    return { ...Object.fromEntries(steps), [`a${levels}`]: { type: 'number' } } satisfies JsonObject;
  };
  const nested = (depth: number) => JSON.parse(`${'{"k":'.repeat(depth)}1${'}'.repeat(depth)}`) as unknown;
  const twice = { properties: { k: { $ref: '#' } } };

  test.each<[string, number, number, (size: number) => [JsonObject, unknown]]>([
    ['references that double', 12, 20, (levels) => [{ $defs: doubling(levels), $ref: '#/$defs/a0' }, 1]],
    [
      'references that meet the same value twice',
      12,
      20,
      (depth) => [{ anyOf: [twice, twice], not: {} }, nested(depth)],
    ],
    [
      'a deep value',
      5_000,
      40_000,
      (depth) => [{ properties: { k: { $ref: '#' } }, not: { const: 0 } }, nested(depth)],
    ],
    [
      'a pattern that backtracks',
      2_500,
      20_000,
      (size) => [{ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(size)}!`],
    ],
    [
      'a pattern of a property',
      2_500,
      20_000,
      (size) => [{ patternProperties: { '^(a+)+$': false } }, { ['a'.repeat(size)]: 1 }],
    ],
    [
      'many items to compare',
      500,
      4_000,
      (length) => [{ type: 'array', uniqueItems: true, maxItems: 1 }, Array.from({ length }, (_, i) => ({ i }))],
    ],
  ])(
    '%s: from a size of %i to one of %i the cost grows no faster than the size',
    async (_name, size, largeSize, bombOf) => {
      let nth = 0;
      const work = ([bomb, value]: [JsonObject, unknown]) => {
        nth += 1;
        // Each is another schema: what was compiled is kept.
        return validate({ ...bomb, $comment: `${nth}` }, value);
      };
      const [small, large] = [bombOf(size), bombOf(largeSize)];
      await expectCpu(() => expect(work(large)).not.toEqual([]), { atMost: 24, unit: cpuUnit(() => work(small)) });
    },
  );

  test('a reference to itself', () => {
    expect(validate({ $ref: '#' }, 1)).not.toEqual([]);
  });
});
