import { expect, test } from 'vitest';
import { pauseAfter } from '../../src/shared/repeat.js';

test.each([
  [5, 60_000],
  [600, 60_000],
  [3_000, 300_000],
  [60_000, 600_000],
])(
  'after a round of %i ms the reconciler pauses %i ms: one part in a hundred is its own, ten minutes the most',
  (took, pause) => {
    expect(pauseAfter({ name: 'reconciler', everyMs: 60_000, atLeastMs: 600_000 }, took)).toBe(pause);
  },
);

test('a loop without a longest pause keeps its pace', () => {
  expect(pauseAfter({ name: 'outbox', everyMs: 500 }, 10_000)).toBe(500);
});
