import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DiffLine, diffText } from '../../src/shared/line-diff.js';

const pick = (diff: readonly DiffLine[], op: '+' | '-'): string[] =>
  diff.filter((line) => line.op === ' ' || line.op === op).map(({ text }) => text);
const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

test('a diff names what stayed, went and came', () => {
  expect(diffText('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([
    { op: ' ', text: 'a' },
    { op: '-', text: 'b' },
    { op: '+', text: 'B' },
    { op: ' ', text: 'c' },
    { op: '+', text: 'd' },
  ]);
  expect(diffText('', '')).toEqual([]);
  expect(diffText('a', '')).toEqual([{ op: '-', text: 'a' }]);
});

test('both texts can be read back from their diff', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', '', 'c\r', '- d'), { maxLength: 12 })
    .map((parts) => parts.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = diffText(before, after);
      expect(pick(diff, '-')).toEqual(linesOf(before));
      expect(pick(diff, '+')).toEqual(linesOf(after));
    }),
  );
});

test('two long texts that share nothing are shown as one gone and one come', () => {
  const text = (mark: string): string => Array.from({ length: 20_000 }, (_, n) => `${mark}${n}`).join('\n');
  const diff = diffText(text('a'), text('b'));
  expect(diff).toHaveLength(40_000);
  expect(diff.slice(0, 20_000).every(({ op }) => op === '-')).toBe(true);
});
