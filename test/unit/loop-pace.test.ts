import { expect, test, vi } from 'vitest';
import { pauseAfter, startLoops } from '../../src/shared/repeat.js';
import { recordingLog } from '../support/recording-log.js';
import { silentLog } from '../support/silent-log.js';

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

test('loops keep a pace each, one may begin at once, and a failure is logged at its first round only', async () => {
  vi.useFakeTimers();
  const lines: object[] = [];
  const rounds = { first: 0, second: 0 };
  const fault = new Error('away');
  const first = async () => {
    rounds.first += 1;
    if (rounds.first < 3) throw fault;
  };
  const loops = startLoops(recordingLog(lines), [
    { name: 'first', everyMs: 1_000, beginsNow: true, work: first },
    { name: 'second', everyMs: 2_000, work: async () => void rounds.second++ },
  ]);
  await vi.advanceTimersByTimeAsync(0);
  expect(rounds).toEqual({ first: 1, second: 0 });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(rounds).toEqual({ first: 3, second: 1 });
  expect(lines).toMatchObject([
    { loop: 'first', err: fault },
    { loop: 'first', message: 'loop recovered' },
  ]);
  await loops.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(rounds).toEqual({ first: 3, second: 1 });
  vi.useRealTimers();
});

test('the end of a loop aborts the signal of its round, and the stop that follows is not logged as a failure', async () => {
  const lines: object[] = [];
  const work = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const loops = startLoops(recordingLog(lines), [{ name: 'long', everyMs: 1, beginsNow: true, work }]);
  await loops.close();
  expect(lines).toEqual([]);
});

test('loops that are closed while a round runs end after it, and begin no other', async () => {
  const ends: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => void ends.push(resolve));
  const loops = startLoops(silentLog, [{ name: 'slow', everyMs: 1, beginsNow: true, work }]);
  let isClosed = false;
  const closing = loops.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect([ends.length, isClosed]).toEqual([1, false]);
  ends[0]?.();
  await closing;
  expect(ends).toHaveLength(1);
});
