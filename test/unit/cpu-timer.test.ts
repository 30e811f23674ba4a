import { readlinkSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { afterCpuTime } from '../../src/content/deploys/check-slot.js';
import { threadCpuMs } from '../../src/shared/thread-cpu.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** What an immediate takes on the fake clock. */
const FAKE_IMMEDIATE_MS = 1;

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
  expect(calledAt(share)).toBeLessThanOrEqual(to + FAKE_IMMEDIATE_MS);
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
  const read = (thread: string | null) => threadCpuMs(thread) ?? Number.NaN;
  const process0 = read(null);
  const own0 = read(own);
  const burner = new Worker('for (;;);', { eval: true });
  try {
    await expect.poll(() => read(null) - process0).toBeGreaterThan(1_000);
    expect(read(own) - own0).toBeLessThan((read(null) - process0) / 2);
  } finally {
    await burner.terminate();
  }
});

test('a reading that fails, at first or later, is no CPU time: the wall time alone ends the work', () => {
  for (const readings of [[null], [0, null], [null, 50_000, 50_000]]) {
    const start = performance.now();
    let at: number | null = null;
    let reads = 0;
    afterCpuTime(
      1_000,
      () => {
        at = performance.now() - start;
      },
      () => {
        const reading = readings[Math.min(reads, readings.length - 1)];
        reads += 1;
        return reading ?? null;
      },
    );
    vi.advanceTimersByTime(60_000);
    expect(at).toBe(5_000 + FAKE_IMMEDIATE_MS);
  }
});

test('an answer that has arrived when the time is up is read first, however late this thread looks', async () => {
  vi.useRealTimers();
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const code = `const { parentPort, workerData } = require('node:worker_threads');
    parentPort.postMessage('done');
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);`;
  const worker = new Worker(code, { eval: true, workerData: sent });
  const first = await new Promise<string>((resolve) => {
    const cancel = afterCpuTime(
      20,
      () => resolve('cut'),
      () => 0,
    );
    worker.on('message', (text: string) => {
      cancel();
      resolve(text);
    });
    // Blocks this thread until the answer has been sent, then beyond the wall limit.
    Atomics.wait(sent, 0, 0, 60_000);
    Atomics.wait(sent, 0, 1, 200);
  });
  expect(first).toBe('done');
  await worker.terminate();
});
