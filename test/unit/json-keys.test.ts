import { describe, expect, test } from 'vitest';
import { duplicateKey } from '../../src/shared/json-keys.js';
import { fc, runs } from '../support/properties.js';

describe('duplicateKey', () => {
  test.each<[string, string | null]>([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"a":{"b":1,"c":[{"d":1,"d":2}]}}', 'd'],
    ['{"a":1,"b":{"a":2}}', null],
    ['[{"a":1},{"a":2}]', null],
    ['{"a":["a","a"],"b":"a"}', null],
    ['{"a":"\\"a\\":1,\\"a\\":2"}', null],
    ['{"":1,"":2}', ''],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['"a"', null],
  ])('of %s is %s', (text, key) => {
    expect(duplicateKey(text)).toBe(key);
  });

  test('finds none in what was written from a value, and the one that was added', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (value) => {
        const text = JSON.stringify(value);
        expect(duplicateKey(text)).toBe(null);
        const [key = ''] = Object.keys(value);
        expect(duplicateKey(`${text.slice(0, -1)},${JSON.stringify(key)}:0}`)).toBe(key);
      }),
      runs(200),
    );
  });
});
