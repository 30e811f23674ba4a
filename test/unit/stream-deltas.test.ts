import { expect, test } from 'vitest';
import { keepDelta } from '../../src/runs/stream-run.js';

type Delta = Parameters<typeof keepDelta>[1];

test('a reader that falls behind gets one reset for each step whose text was dropped, before what comes next', () => {
  const deltas: Delta[] = [];
  const text = (step: string, n: number): Delta => ({ kind: 'delta', step, item: 0, round: 1, text: `${step}${n}` });
  for (let n = 0; n < 500; n += 1) for (const step of ['a', 'b']) keepDelta(deltas, text(step, n));
  expect(deltas).toHaveLength(1_000);
  keepDelta(deltas, text('a', 500));
  const reset = (step: string) => ({ kind: 'reset', step, item: 0, round: 1, text: '' });
  expect(deltas).toEqual([reset('a'), reset('b'), text('a', 500)]);
});
