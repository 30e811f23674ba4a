import { expect, test } from 'vitest';
import { type DiffLine, diffText } from '../../src/shared/line-diff.js';
import { fc } from '../support/properties.js';

const pick = (diff: readonly DiffLine[], op: '+' | '-'): string[] =>
  diff.filter((line) => line.op === ' ' || line.op === op).map(({ text }) => text);
const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

test('a diff names what stayed, went and came', async () => {
  expect(await diffText('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([
    { op: ' ', text: 'a' },
    { op: '-', text: 'b' },
    { op: '+', text: 'B' },
    { op: ' ', text: 'c' },
    { op: '+', text: 'd' },
  ]);
  expect(await diffText('', '')).toEqual([]);
  expect(await diffText('a', '')).toEqual([{ op: '-', text: 'a' }]);
});

test('both texts can be read back from their diff', async () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', '', 'c\r', '- d'), { maxLength: 12 })
    .map((parts) => parts.join('\n'));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const diff = await diffText(before, after);
      expect(pick(diff, '-')).toEqual(linesOf(before));
      expect(pick(diff, '+')).toEqual(linesOf(after));
    }),
  );
});

test('two long texts that share nothing are shown as one gone and one come', async () => {
  const text = (mark: string): string => Array.from({ length: 20_000 }, (_, n) => `${mark}${n}`).join('\n');
  const diff = await diffText(text('a'), text('b'));
  expect(diff).toHaveLength(40_000);
  expect(diff.slice(0, 20_000).every(({ op }) => op === '-')).toBe(true);
});

test('two texts that differ in many lines are compared in short turns: the event loop goes on meanwhile', async () => {
  const text = (every: number): string =>
    Array.from({ length: 100_000 }, (_, n) => (n % every === 0 ? `changed ${every}` : `line ${n % 7}`)).join('\n');
  const compared = diffText(text(250), text(260));
  let turns = 0;
  const count = setInterval(() => {
    turns += 1;
  }, 0);
  const diff = await compared;
  clearInterval(count);
  // Not how long, which depends on the machine: that others had their turn, often.
  expect(turns).toBeGreaterThan(50);
  expect(pick(diff, '-')).toEqual(linesOf(text(250)));
  expect(pick(diff, '+')).toEqual(linesOf(text(260)));
});
