import { expect, test } from 'vitest';
import { declares } from '../../src/format/schema/declares.js';
import { exampleOf } from '../../src/models/scripted/example-of.js';
import { atPointer } from '../../src/shared/json-pointer.js';

const root = { $defs: { 'a/b': { x: 1 }, 'c~d': 2, 'e f': 3, list: [{ y: 4 }] }, '': 5 };

test.each([
  ['', root],
  ['#', root],
  ['#/$defs/a~1b/x', 1],
  ['#/$defs/c~0d', 2],
  ['#/$defs/e%20f', 3],
  ['#/$defs/list/0/y', 4],
  ['#/', 5],
  ['#/$defs/list/-', undefined],
  ['#/$defs/list/length', undefined],
  ['#/$defs/list/1/y', undefined],
  ['#/__proto__', undefined],
  ['#/toString', undefined],
  ['#/$defs/%', undefined],
])('the pointer %j leads where RFC 6901 says', (pointer, value) => {
  expect(atPointer(root, pointer)).toEqual(value);
});

test('a field behind an encoded reference or one into a list is declared', () => {
  const schema = (ref: string) => ({
    $ref: ref,
    $defs: { 'a b': { properties: { x: {} } }, n: [{ properties: { x: {} } }] },
  });
  expect(declares(schema('#/$defs/a%20b'), ['x'])).toBe(true);
  expect(declares(schema('#/$defs/n/0'), ['x'])).toBe(true);
  expect(declares(schema('#/$defs/none'), ['x'])).toBe(false);
});

test('a schema whose reference has a stray percent sign has no example, and no error', () => {
  expect(exampleOf({ type: 'object', properties: { x: { $ref: '#/%' } }, required: ['x'] })).toBeUndefined();
});
