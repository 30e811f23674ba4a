import { expect, test } from 'vitest';
import { fillWith, renderPath } from '../../../src/format/text/fill.js';
import type { Json } from '../../../src/shared/json.js';
import { fc } from '../../support/properties.js';

const roots = { input: { order: 'A-1', amount: 12.5, list: [1, { x: 2 }], none: null, flag: false } };

test.each<[string, Json | undefined]>([
  ['input.order', 'A-1'],
  ['input.list.1.x', 2],
  ['input.list', [1, { x: 2 }]],
  ['input.none', null],
  ['input.gone', undefined],
  ['input.none.x', undefined],
  ['input.list.9', undefined],
  ['input.list.x', undefined],
  ['input.order.length', undefined],
  ['other', undefined],
  ['input.constructor', undefined],
  ['__proto__', undefined],
])('%s leads to %j', (path, expected) => expect(renderPath(path, roots)).toEqual(expected));

test.each<[Json, Json]>([
  ['{{input.amount}}', 12.5],
  ['{{ input.list }}', [1, { x: 2 }]],
  ['{{input.flag}}', false],
  ['{{input.gone}}', null],
  ['Order {{input.order}} of {{input.amount}}', 'Order A-1 of 12.5'],
  ['{{input.list}} ', '[1,{"x":2}] '],
  ['a {{input.gone}}{{input.none}} b', 'a  b'],
  ['\\{{input.order}}', '{{input.order}}'],
  ['{{not a path}}', '{{not a path}}'],
  [
    { a: ['{{input.order}}', 3, null], '{{b}}': '{{input.flag}}' },
    { a: ['A-1', 3, null], '{{b}}': false },
  ],
])('%j is filled to %j', (value, expected) => expect(fillWith(value, roots)).toEqual(expected));

test('what is filled in is never filled again', () => {
  expect(fillWith('{{input.a}} and {{input.b}}', { input: { a: '{{input.b}}', b: 'B' } })).toBe('{{input.b}} and B');
  expect(fillWith('x {{input.a}}', { input: { a: '$& $1' } })).toBe('x $& $1');
});

test('values without marks come back as they are', () => {
  const plain = fc.jsonValue().filter((value) => !/\{\{/.test(JSON.stringify(value)));
  fc.assert(
    fc.property(plain, (value) => {
      const json = JSON.parse(JSON.stringify(value)) as Json;
      expect(fillWith(json, roots)).toEqual(json);
    }),
  );
});
