import { expect, test } from 'vitest';
import { parseExact } from '../../src/shared/exact-numbers.js';
import { fc } from '../support/properties.js';

test.each<[string, unknown]>([
  ['7', 7],
  ['9007199254740993', '9007199254740993'],
  ['-12345678901234567890', '-12345678901234567890'],
  ['{"a":[1,9007199254740993,2],"b":{"c":0.1}}', { a: [1, '9007199254740993', 2], b: { c: 0.1 } }],
  ['{ "a" : 1e400 ,"b": 1.50}', { a: '1e400', b: '1.50' }],
  ['"9007199254740993 \\" 1.50"', '9007199254740993 " 1.50'],
  ['{"1.50":"\\\\","9007199254740993":9007199254740993}', { '1.50': '\\', '9007199254740993': '9007199254740993' }],
])('%s is told with numbers that no double holds as texts', (text, value) => {
  expect(parseExact(text)).toEqual(value);
});

test('two whole numbers are the same only when they are, and all else is as JSON.parse has it', () => {
  const number = fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n });
  fc.assert(
    fc.property(number, number, (a, b) => {
      expect(String(parseExact(`${a}`)) === String(parseExact(`${b}`))).toBe(a === b);
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(parseExact(text)).toEqual(JSON.parse(text));
    }),
  );
});

test.each(['', '01', '{1:2}', '[1 2]', '{"a" 1}', '1.50.2', '[1,]', '--1'])('%j is no JSON for it either', (text) => {
  expect(() => parseExact(text)).toThrow(SyntaxError);
});
