import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settlesWithin, sleep, startDeadline, untilAborted, within } from '../../src/shared/deadline.js';
import { createWakeup } from '../../src/shared/wakeup.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DAY_MS = 86_400_000;

function pendingWork() {
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<number>((_resolve, fail) => {
    reject = fail;
  });
  return { promise, reject };
}

test('work within its time has its own outcome, and no timer stays', async () => {
  const fault = new Error('no way');
  expect(await within(Promise.resolve(1), 1_000, () => 2)).toBe(1);
  await expect(within(Promise.reject(fault), 1_000, () => 2)).rejects.toBe(fault);
  expect(await settlesWithin(Promise.resolve(), 1_000)).toBe(true);
  await expect(settlesWithin(Promise.reject(fault), 1_000)).rejects.toBe(fault);
  expect(vi.getTimerCount()).toBe(0);
});

test('late work has the outcome of the fallback, which may fail, and a late failure is handled', async () => {
  const late = pendingWork();
  const fault = new Error('too late');
  const outcomes = Promise.allSettled([
    within(late.promise, 1_000, () => 2),
    within(late.promise, 1_000, () => Promise.reject(fault)),
    within(late.promise, 1_000, () => {
      throw fault;
    }),
    settlesWithin(late.promise, 1_000),
  ]);
  await vi.advanceTimersByTimeAsync(1_000);
  const rejected = { status: 'rejected', reason: fault };
  expect(await outcomes).toEqual([
    { status: 'fulfilled', value: 2 },
    rejected,
    rejected,
    { status: 'fulfilled', value: false },
  ]);
  late.reject(new Error('nothing waits for this'));
});

test.each(['before', 'while'])(
  'an abort %s the work runs rejects with its reason, and leaves no listener',
  async (when) => {
    const stop = new AbortController();
    const removed = vi.spyOn(stop.signal, 'removeEventListener');
    const reason = new Error('stopped');
    const late = pendingWork();
    if (when === 'before') stop.abort(reason);
    const outcome = untilAborted(late.promise, stop.signal);
    stop.abort(reason);
    await expect(outcome).rejects.toBe(reason);
    late.reject(new Error('nothing waits for this'));
    await vi.advanceTimersByTimeAsync(0);
    expect(removed).toHaveBeenCalledOnce();
  },
);

test('work that ends before an abort has its own outcome, also without a signal', async () => {
  const { signal } = new AbortController();
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  expect(await untilAborted(Promise.resolve(1), undefined)).toBe(1);
});

test.each(['before', 'while'])('a sleep that is aborted %s it lasts rejects with the reason at once', async (when) => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  if (when === 'before') stop.abort(reason);
  const outcome = sleep(DAY_MS, stop.signal);
  stop.abort(reason);
  await expect(outcome).rejects.toBe(reason);
});

test('a deadline is over after its time, unless the caller stopped', () => {
  const stop = new AbortController();
  const alone = startDeadline(1_000);
  const stopped = startDeadline(1_000, stop.signal);
  vi.advanceTimersByTime(999);
  expect([alone.signal.aborted, alone.isOver()]).toEqual([false, false]);
  stop.abort();
  expect([stopped.signal.aborted, stopped.isOver()]).toEqual([true, false]);
  vi.advanceTimersByTime(1);
  expect([alone.signal.aborted, alone.isOver(), stopped.isOver()]).toEqual([true, true, false]);
});

test.each([
  ['no time', 0, true],
  ['a time in the past', -1, true],
  ['25 days', 25 * DAY_MS, false],
  ['no limit', Number.POSITIVE_INFINITY, false],
])('a deadline of %s does not depend on the longest timer', (_name, ms, isOver) => {
  const deadline = startDeadline(ms);
  vi.advanceTimersByTime(1);
  expect(deadline.isOver()).toBe(isOver);
  deadline.end();
});

test('a deadline that has ended is never over', () => {
  const deadline = startDeadline(1_000);
  deadline.end();
  vi.advanceTimersByTime(2_000);
  expect(deadline.signal.aborted).toBe(false);
});

test('a wakeup keeps an event until it is awaited, and wakes a waiter at an event, its time or an abort', async () => {
  const wakeup = createWakeup();
  const stop = new AbortController();
  wakeup.set();
  await wakeup.wait(DAY_MS);
  const byEvent = wakeup.wait(DAY_MS);
  wakeup.set();
  await byEvent;
  const byTime = wakeup.wait(1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  await byTime;
  const byAbort = wakeup.wait(DAY_MS, stop.signal);
  stop.abort();
  await byAbort;
  await wakeup.wait(DAY_MS, stop.signal);
  expect(vi.getTimerCount()).toBe(0);
});
