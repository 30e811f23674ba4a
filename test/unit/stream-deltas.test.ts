import { expect, test } from 'vitest';
import { deltaSink } from '../../src/engine/rows/deltas.js';
import type { Db } from '../../src/platform/db/contract.js';
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

test('the end of a sink resolves once all of its text is sent, in order', async () => {
  const sent: string[] = [];
  const pending: (() => void)[] = [];
  const notify = (_channel: string, payload: string) =>
    new Promise<void>((resolve) => {
      pending.push(() => {
        sent.push((JSON.parse(payload) as { text: string }).text);
        resolve();
      });
    });
  const sink = deltaSink({ notify } as Partial<Db> as Db, { runId: 'r', step: 's', item: 0, round: 1 }, 'output');
  sink.push('begin');
  await expect.poll(() => pending.length).toBe(1);
  const text = `${'x'.repeat(3_000)}last`;
  sink.push(text);
  let hasEnded = false;
  const end = sink.end().then(() => {
    hasEnded = true;
  });
  while (sent.join('') !== `begin${text}`) {
    expect(hasEnded).toBe(false);
    pending.shift()?.();
    await new Promise(setImmediate);
  }
  await end;
  expect(pending).toEqual([]);
});

test('a sink whose database fails ends, and the text is lost', async () => {
  const notify = () => Promise.reject(new Error('away'));
  const sink = deltaSink({ notify } as Partial<Db> as Db, { runId: 'r', step: 's', item: 0, round: 1 });
  sink.push('lost');
  await sink.reset();
  sink.push('lost too');
  await sink.end();
});
