import { describe, expect, test } from 'vitest';
import { checkCel } from '../../../src/format/cel/index.js';
import { fc, runs } from '../../support/properties.js';

const roots = ['input', 'steps', 'trigger', 'run'];

test.each<[string, string[]]>([
  ["steps.read.data.verdict != 'refuse'", ['read']],
  ['steps["a"].data.x && has(steps.b.data) && steps.a.status == "completed"', ['a', 'b']],
  ['input.items.map(steps, steps.z)', []],
  ['steps.all(id, steps[id].status == "completed")', []],
  ['type(input.x) == string', []],
  ['input.list.filter(x, x.n > steps.read.data.n)', ['read']],
])('%s is sound and names its steps', (source, steps) => {
  expect(checkCel(source, { roots })).toMatchObject({ ok: true, steps });
});

describe('what is wrong is said with its place', () => {
  test.each<[string, number, string]>([
    ['input.a == == 1', 8, '`=` does not belong here'],
    ['', 0, 'an expression is missing'],
    ['input.a > 1 && foo.bar', 15, 'there is no `foo` here'],
    ['input.a + foo(1)', 10, 'there is no function `foo`'],
    ['has(input)', 0, 'has() takes a path with a dot'],
    ['input.list.map(x, y)', 18, 'there is no `y` here'],
    ['x.y + input.list.map(x, x)[0]', 0, 'there is no `x` here'],
    ['google.protobuf.Timestamp{seconds: 1}', 0, 'there is no type'],
  ])('%s', (source, offset, message) => {
    const result = checkCel(source, { roots });
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining(message) });
    expect(result.ok ? -1 : result.offset).toBe(offset);
  });
});

test('`self` and an item of `each` are known where they are given as roots', () => {
  expect(checkCel('self.data.score >= 8', { roots }).ok).toBe(false);
  expect(checkCel('self.data.score >= 8', { roots: [...roots, 'self'] }).ok).toBe(true);
});

test('checking never throws, and places are inside the source', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (source) => {
      const result = checkCel(source, { roots });
      if (result.ok) return;
      expect(result.offset).toBeGreaterThanOrEqual(0);
      expect(result.offset).toBeLessThanOrEqual(source.length);
    }),
    runs(500),
  );
});
