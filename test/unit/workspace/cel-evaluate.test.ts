import { describe, expect, test } from 'vitest';
import { evaluateCel } from '../../../src/format/cel/index.js';
import type { Json } from '../../../src/shared/json.js';
import { cpuUnit, expectCpu } from '../../support/cpu-cost.js';
import { fc, runs } from '../../support/properties.js';

const bindings: Readonly<Record<string, Json>> = {
  input: {
    n: 8,
    amount: 120.5,
    list: [1, 2, 3],
    text: 'Hello',
    odd: { constructor: 1, 'x y': 2, nothing: null, __proto__: {} },
    people: [{ name: 'Ada', age: 36 }, { name: 'Bob' }],
  },
  steps: { read: { status: 'completed', data: { verdict: 'refund', amount: 140 } } },
};
const value = (source: string) => {
  const result = evaluateCel(source, bindings);
  return result.ok ? result.value : result.message;
};

describe('JSON numbers are doubles and mix with ints', () => {
  test.each<[string, Json]>([
    ['steps.read.data.amount > 100', true],
    ['100 < steps.read.data.amount', true],
    ['input.n == 8', true],
    ['8u == input.n', true],
    ['size(input.list) == 3', true],
    ['input.list.size() == 2', false],
    ['input.n % 2 == 0', true],
    ['input.n + 1', 9],
    ['1 - input.n', -7],
    ['input.amount * 2', 241],
    ['input.n / 16', 0.5],
    ['7 / 2', 3],
    ['input.list[1]', 2],
    ['input.list[input.list[0]]', 2],
    ['2 in input.list', true],
    ['int(input.n) + 1', 9],
    ['string(input.n) + "x"', '8x'],
  ])('%s', (source, expected) => expect(value(source)).toEqual(expected));
});

describe('a missing path fails and names the path', () => {
  test.each([
    ['steps.read.data.nope == 1', 'steps.read.data.nope is missing'],
    ['steps.gone.data.x', 'steps.gone.data.x is missing: there is no steps.gone'],
    ['self.score >= 8', 'self.score is missing: there is no self'],
    ['input.list[7]', 'input.list[7] is missing'],
    ['input["a b"].c', 'input["a b"].c is missing: there is no input["a b"]'],
    ['input.text.length', 'input.text.length is missing'],
    ['input.odd.nothing.x', 'input.odd.nothing.x is missing'],
    ['input.list.map(i, i.x)', 'i.x is missing'],
    ['input.people.all(p, p.age > 3)', 'p.age is missing'],
    ["{'a': 1}.b", '(…).b is missing'],
    ['input.toString', 'input.toString is missing'],
  ])('%s', (source, expected) => expect(value(source)).toBe(expected));
});

describe('has() is false for any missing part', () => {
  test.each([
    ['has(steps.read.data.verdict)', true],
    ['has(steps.read.data.nope)', false],
    ['has(steps.gone.data.x.y)', false],
    ['has(self.a)', false],
    ['has(input.odd.nothing)', true],
    ['has(input.odd.nothing.deeper)', false],
    ['has(input.odd["x y"])', true],
    ['has(input.list[9].name)', false],
    ['input.people.exists(p, has(p.age.x))', false],
    ['input.people.filter(p, has(p.age)).size() == 1', true],
    ["has({'a': {'b': 1}}.a.b)", true],
  ])('%s', (source, expected) => expect(value(source)).toBe(expected));
});

describe('results are plain JSON', () => {
  test.each<[string, Json]>([
    ['null', null],
    ['[1, 2u, 2.5, true, "x"]', [1, 2, 2.5, true, 'x']],
    ["{'a': 1, 'b': [null]}", { a: 1, b: [null] }],
    ['{1: "one"}', { '1': 'one' }],
    ['input', bindings.input as Json],
    ['input.odd.constructor', 1],
    ['timestamp("2026-01-01T00:00:00Z") + duration("90s")', '2026-01-01T00:01:30Z'],
    ['duration("90s")', '90s'],
    ['b"ab"', 'YWI='],
    ['type(input.n) == double', true],
    ['input.list.map(x, x * 2)', [2, 4, 6]],
    ['input.list.map(x, x > 1, x + 0.5)', [2.5, 3.5]],
    [
      'input.list.map(x, input.list.map(y, x * y))',
      [
        [1, 2, 3],
        [2, 4, 6],
        [3, 6, 9],
      ],
    ],
    ['input.list.filter(x, x > 1) + [9]', [2, 3, 9]],
    ['input.list.exists_one(x, x == 2)', true],
  ])('%s', (source, expected) => expect(value(source)).toEqual(expected));

  test.each(['1.0 / 0.0', '0.0 / 0.0'])('%s is refused, since JSON cannot hold it', (source) =>
    expect(evaluateCel(source, bindings).ok).toBe(false),
  );
});

describe('security 16: no expression hangs', () => {
  const big: Readonly<Record<string, Json>> = {
    input: { list: Array.from({ length: 3_000 }, (_, i) => ({ i })), text: 'x'.repeat(1_000_000) },
  };
  const oneLoop = cpuUnit(() => expect(evaluateCel('input.list.map(a, a.i + 1)', big).ok).toBe(true));
  test.each([
    'input.list.map(a, input.list.map(b, input.list.map(c, 1)))',
    'input.list.all(a, input.list.all(b, a.i + b.i >= 0))',
    'input.list.exists(a, input.list.exists(b, a.i + b.i < 0)) || true',
    'input.list.map(a, input.list)',
    'input.list.filter(a, input.list == input.list)',
    'input.list.filter(a, a in input.list)',
    'input.list.map(a, input.text.size())',
    'input.list.map(a, input.text + input.text)',
    'input.text.matches("(a|b|c|x){1,500}$")',
    'input.list.map(a, input.text.matches("(x+x+)+y$|a"))',
  ])('%s', async (source) => {
    const refuse = () =>
      expect(evaluateCel(source, big)).toMatchObject({ ok: false, message: expect.stringContaining('too much work') });
    await expectCpu(refuse, { atMost: 20, unit: oneLoop });
  });

  test('a pattern that would backtrack without end is matched in linear time', () => {
    const subject = `${'a'.repeat(20_000)}!`;
    expect(evaluateCel('input.matches("^(a+)+$")', { input: subject })).toEqual({ ok: true, value: false });
  });

  test('a list of 2,000 items is mapped, filtered and walked again', () => {
    const result = evaluateCel('input.list.map(x, x.i).filter(i, i >= 2998).map(i, i + 1)', big);
    expect(result).toEqual({ ok: true, value: [2999, 3000] });
  });

  test('security 16: deep and long sources are refused', () => {
    for (const source of [
      '('.repeat(3_999),
      `${'['.repeat(1_999)}${']'.repeat(1_999)}`,
      'a+'.repeat(1_999),
      'x'.repeat(5_000),
    ]) {
      expect(evaluateCel(source, {}).ok).toBe(false);
    }
  });
});

test('evaluating never throws, on any source and any data', () => {
  const words = fc.constantFrom(
    'a',
    'b.c',
    '[',
    ']',
    '(',
    ')',
    '.map(x, ',
    ' && ',
    ' ? ',
    ' : ',
    '!',
    '"s"',
    '1',
    '{',
    '}',
    'has(',
    ' + ',
    ' in ',
    '.',
    '@result',
  );
  const sources = fc.oneof(
    fc.string(),
    fc.array(words, { maxLength: 12 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(sources, fc.jsonValue(), (source, data) => {
      const result = evaluateCel(source, { a: data as Json, b: { c: data as Json } });
      expect(typeof result.ok).toBe('boolean');
    }),
    runs(500),
  );
});

test('any JSON comes back as it went in', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (data) => {
      const plain = JSON.parse(JSON.stringify(data)) as Json;
      expect(evaluateCel('input', { input: plain })).toEqual({ ok: true, value: plain });
      expect(evaluateCel('input == input', { input: plain })).toEqual({ ok: true, value: true });
    }),
  );
});
