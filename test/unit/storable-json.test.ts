import { expect, test } from 'vitest';
import { storableJson } from '../../src/shared/storable-json.js';
import { fc } from '../support/properties.js';

test('NUL and lone surrogates become U+FFFD, and their spelling in text stays text', () => {
  expect(JSON.parse(storableJson({ 'a\0': 'b\0c\ud800', d: 'C:\\u0000', e: '\\\0' }))).toEqual({
    'a\uFFFD': 'b\uFFFDc\uFFFD',
    d: 'C:\\u0000',
    e: '\\\uFFFD',
  });
});

test('a value without them comes through unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!/\\u0000|\\ud[89a-f]/i.test(text));
      expect(storableJson(value)).toBe(text);
    }),
  );
});
