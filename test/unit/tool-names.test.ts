import { expect, test } from 'vitest';
import { means, nameOperations } from '../../src/tools/names.js';

const operation = (name: string | null) => ({
  operation: name,
  description: `Does ${name}.`,
  parameters: { type: 'object' },
  acts: () => true,
  program: false,
  run: async () => ({ text: '', isError: false }),
});
const named = (tool: string, names: readonly (string | null)[]) =>
  nameOperations(tool, names.map(operation)).map(({ ref, spec }) => [ref, spec.name]);

test('an operation has tool.operation in files and tool__operation before the model', () => {
  expect(named('shop', ['get_order', null])).toEqual([
    ['shop.get_order', 'shop__get_order'],
    ['shop', 'shop'],
  ]);
});

test('a name that models cannot have is folded, and never takes that of another operation', () => {
  const names = named('gh', ['repos/get', 'repos.get', 'repos_get']);
  expect(names[2]).toEqual(['gh.repos_get', 'gh__repos_get']);
  expect(names[0]?.[1]).toMatch(/^gh__repos_get_[0-9a-f]{8}$/);
  expect(new Set(names.map(([, name]) => name)).size).toBe(3);
  // The same whatever stands beside it in the document.
  expect(named('gh', ['repos_get', 'repos/get'])[1]).toEqual(names[0]);
});

test('every name is one that every provider takes, two equal ones of a server included', () => {
  const long = 'x'.repeat(90);
  const names = named('a-tool', [long, `${long}y`, 'ключ', 'twice', 'twice', '']).map(([, name]) => name ?? '');
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(new Set(names).size).toBe(names.length);
});

test.each([
  ['shop', 'shop.get', 'shop__get', true],
  ['shop.get', 'shop.get', 'shop__get', true],
  ['shop__get', 'shop.get', 'shop__get', true],
  ['shop.ge', 'shop.get', 'shop__get', false],
  ['sho', 'shop.get', 'shop__get', false],
  ['shop.get', 'shop', 'shop', false],
  ['gh.a/b', 'gh.a/b', 'gh__a_b_12345678', true],
  ['gh.a_b', 'gh.a/b', 'gh__a_b_12345678', false],
])('%s means %s (%s): %s', (word, ref, name, meant) => {
  expect(means(word, { ref, name })).toBe(meant);
});
