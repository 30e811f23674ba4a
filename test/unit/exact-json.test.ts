import { expect, test } from 'vitest';
import { slotOf } from '../../src/engine/slots/slot-of.js';
import { keepSpelling } from '../../src/format/edit/keep-spelling.js';
import { evaluateCel } from '../../src/format/index.js';
import { word } from '../../src/format/parse/reader.js';
import { validate } from '../../src/format/schema/validate.js';
import { readYaml } from '../../src/format/yaml/read-yaml.js';
import { markIntegers, parseJson, toDoubles, toJson, unmark } from '../../src/shared/exact-json.js';
import { canonicalJson } from '../../src/shared/json.js';
import { fc } from '../support/properties.js';

const ID = 2512292042121000001n;

test.each<[string, unknown]>([
  ['7', 7],
  ['2512292042121000001', ID],
  ['-12345678901234567890', -12345678901234567890n],
  ['{"a":[1,9007199254740993,2],"b":{"c":0.1}}', { a: [1, 9007199254740993n, 2], b: { c: 0.1 } }],
  ['9007199254740992', 9007199254740992],
  ['1.50', 1.5],
  ['"2512292042121000001"', '2512292042121000001'],
  ['{"2512292042121000001":"\\\\"}', { '2512292042121000001': '\\' }],
  ['{"__proto__":2512292042121000001}', JSON.parse('{"__proto__":0}')],
])('%s is read with all its digits', (text, value) => {
  const read = parseJson(text);
  if (text.includes('__proto__')) expect(toJson(read)).toBe(text);
  else expect(read).toEqual(value);
});

const integers = fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n });
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { withCrossShrink: true },
    fc.jsonValue(),
    integers,
    fc.array(tie('value')),
    fc.dictionary(fc.string(), tie('value')),
  ),
})).value;

test('what is written is read again, and every integer is written as a number with its digits', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = toJson(value);
      expect(toJson(parseJson(text))).toBe(text);
      expect(toJson(parseJson(toJson(value, 2)))).toBe(text);
      // Another reader finds the same JSON, but for the digits.
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(toDoubles(value))));
    }),
  );
  fc.assert(fc.property(integers, (integer) => toJson({ integer }) === `{"integer":${integer}}`));
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(parseJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('integers that a library writes as JSON, once or within a text of it, are numbers again', () => {
  fc.assert(
    fc.property(json, (value) => {
      const marked = markIntegers(value as never);
      expect(unmark(JSON.stringify(marked))).toBe(toJson(value));
      expect(JSON.parse(unmark(JSON.stringify({ arguments: JSON.stringify(marked) })))).toEqual({
        arguments: toJson(value),
      });
    }),
  );
});

test('code that writes JSON by itself gets the digits as a text, and throws nothing', () => {
  expect(JSON.stringify({ id: ID })).toBe('{"id":"2512292042121000001"}');
  expect(canonicalJson({ b: ID, a: [ID] })).toBe('{"a":[2512292042121000001],"b":2512292042121000001}');
});

test.each(['', '01', '{2512292042121000001:2}', '[2512292042121000001 2]', '--2512292042121000001', '9'.repeat(1_001)])(
  '%j is not JSON',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  },
);

const scope = { id: ID, same: ID, next: ID + 1n, round: Number('2512292042121000000'), small: 7, double: 2 ** 53 };
test.each<[string, unknown]>([
  ['id == same', true],
  ['id == next', false],
  ['id == 2512292042121000001', true],
  ['id == 2512292042121000000', false],
  ['id == round', false],
  ['round == 2512292042121000000', true],
  ['id > round', true],
  ['round < id', true],
  ['id <= 2512292042121000000', false],
  ['id in [2512292042121000000]', false],
  ['id in [next, id]', true],
  ['small < id', true],
  ['id > small', true],
  ['double < 9007199254740993', true],
  ['small == 7', true],
  ['id', ID],
  ['id + 1', ID + 1n],
  ['id - id', 0],
  ['string(id)', '2512292042121000001'],
  ['[id]', [ID]],
])('an expression compares integers by all their digits: %s', (source, value) => {
  expect(evaluateCel(source, scope)).toEqual({ ok: true, value });
});

test('what a double would round is refused', () => {
  const answer = evaluateCel('id / small', scope);
  expect(answer).toMatchObject({
    ok: false,
    message: expect.stringContaining('too large to compute with exactly'),
  });
});

test('a concurrency key tells two integers apart that a double would not', () => {
  const concurrency = { limit: 1, onLimit: 'queue', key: 'string(input.id)' };
  const keyOf = (id: bigint) => slotOf({ flow: 'f', concurrency } as never, { input: { id }, trigger: {} });
  expect(keyOf(ID)).toMatchObject({ key: 'f/2512292042121000001' });
  expect(keyOf(ID + 1n)).toMatchObject({ key: 'f/2512292042121000002' });
});

test('a large integer in YAML is a word as it is spelled, and differs from the text of its digits', () => {
  const { node } = readYaml(String(ID));
  expect(node?.value).toBe(ID);
  expect(node && word.read(node, () => undefined)).toBe(String(ID));
  expect(keepSpelling(`${ID}`, String(ID + 1n), 'printed')).toBe('printed');
  expect(keepSpelling(`"${ID}"`, ID, 'printed')).toBe('printed');
});

test('a schema with a large integer compiles, and checks values as doubles', () => {
  const schema = { type: 'object', properties: { id: { type: 'integer', maximum: 9223372036854775807n } } };
  expect(validate(schema, { id: ID })).toEqual([]);
  expect(validate(schema, { id: 10n ** 20n })).toEqual([expect.stringContaining('id must be <=')]);
  expect(validate({ const: ID }, ID)).toEqual([]);
});
