import { readlinkSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { afterCpuTime, threadCpuMs } from '../../src/deploys/cpu-timer.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** When it calls back, in ms, on a machine that gives this share of a core. */
function calledAt(share: number, ms = 2_000): number | null {
  const start = performance.now();
  let at: number | null = null;
  afterCpuTime(
    ms,
    () => {
      at = performance.now() - start;
    },
    () => (performance.now() - start) * share,
  );
  vi.advanceTimersByTime(60_000);
  return at;
}

test.each([
  ['a core of its own', 1, 2_000, 2_000],
  ['two cores', 2, 2_000, 2_000],
  ['half a core', 0.5, 4_000, 4_100],
  ['a tenth of a core', 0.1, 10_000, 10_000],
  ['nothing at all', 0, 10_000, 10_000],
])('with %s the time is up when as much of it was had, or five times as much has passed', (_what, share, from, to) => {
  expect(calledAt(share)).toBeGreaterThanOrEqual(from);
  expect(calledAt(share)).toBeLessThanOrEqual(to);
});

test('one that is ended calls nobody', () => {
  const then = vi.fn();
  afterCpuTime(1_000, then, () => 0)();
  const late = afterCpuTime(1_000, then, () => 0);
  vi.advanceTimersByTime(1_500);
  late();
  vi.advanceTimersByTime(60_000);
  expect(then).not.toHaveBeenCalled();
});

test.skipIf(process.platform !== 'linux')('the CPU time of a thread leaves out what other threads use', async () => {
  vi.useRealTimers();
  const own = readlinkSync('/proc/thread-self');
  const process0 = threadCpuMs(null);
  const own0 = threadCpuMs(own);
  const burner = new Worker('for (;;);', { eval: true });
  try {
    await expect.poll(() => threadCpuMs(null) - process0).toBeGreaterThan(1_000);
    expect(threadCpuMs(own) - own0).toBeLessThan((threadCpuMs(null) - process0) / 2);
  } finally {
    await burner.terminate();
  }
});
