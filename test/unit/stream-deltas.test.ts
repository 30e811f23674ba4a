import { expect, test } from 'vitest';
import { deltaSink } from '../../src/engine/rows/deltas.js';
import type { Db } from '../../src/platform/db/contract.js';
import { type Delta, keepDelta, orderDeltas } from '../../src/runs/stream-deltas.js';

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

test.each<[string, string[], string[], string[], string[]]>([
  ['text comes before the end of its step', ['step.completed a'], ['a'], [], ['a', 'step.completed a']],
  [
    'so it does before a failure and a skip',
    ['step.failed a', 'step.skipped b'],
    ['b', 'a'],
    [],
    ['a', 'step.failed a', 'b', 'step.skipped b'],
  ],
  [
    'other steps, items and rounds keep their place',
    ['step.completed a'],
    ['b', 'a 1', 'a 0 2', 'a'],
    [],
    ['a', 'step.completed a', 'b', 'a 1', 'a 0 2'],
  ],
  ['text follows a start that came with it', ['step.started a'], ['a'], [], ['step.started a', 'a']],
  ['text of an ended step is dropped', ['model.started b'], ['a', 'b'], ['a 0 1'], ['model.started b', 'b']],
  [
    'a step that starts again or tries again sends text again',
    ['step.started a', 'step.retrying b'],
    ['a', 'b'],
    ['a 0 1', 'b 0 1'],
    ['step.started a', 'step.retrying b', 'a', 'b'],
  ],
  [
    'the next round starts while the last one is over',
    ['step.completed a', 'step.started a 0 2'],
    ['a', 'a 0 2'],
    [],
    ['a', 'step.completed a', 'step.started a 0 2', 'a 0 2'],
  ],
])('order of a stream: %s', (_name, events, texts, over, expected) => {
  const rows = events.map((event) => {
    const [type = '', ...at] = event.split(' ');
    return { type, data: place(at) };
  });
  const deltas = texts.map((text): Delta => ({ kind: 'delta', ...place(text.split(' ')), text }));
  const ended = new Set(over);
  const names = new Map(rows.map((row, at) => [row, events[at]]));
  const ordered = [...orderDeltas(rows, deltas, ended)];
  expect(ordered.map((each) => ('row' in each ? names.get(each.row) : each.delta.text))).toEqual(expected);
  expect(deltas).toEqual([]);
});

test('text that arrives after the end of its step was sent is dropped, also with the next look', () => {
  const deltas: Delta[] = [];
  const ended = new Set<string>();
  const late: Delta = { kind: 'delta', ...place(['a']), text: 'late' };
  for (const each of orderDeltas([{ type: 'step.completed', data: { ...place(['a']) } }], deltas, ended))
    if ('row' in each) deltas.push(late);
  deltas.push(late);
  expect([...orderDeltas([], deltas, ended)]).toEqual([]);
});

function place([step = '', item = '0', round = '1']: readonly string[]) {
  return { step, item: Number(item), round: Number(round) };
}
