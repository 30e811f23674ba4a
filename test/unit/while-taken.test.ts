import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchReader } from '../../src/remotes/fetch.js';
import { requestSlots } from '../../src/remotes/request-slots.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const STALLED_MS = 120_000;

function stage(isOver = () => false) {
  const source = new PassThrough();
  const giveUp = (): void => void out.destroy();
  const out = watchReader(source, { stalledMs: STALLED_MS, isOver, giveUp });
  return { source, out };
}

/** Puts so many bytes there, and waits until the reader could take them. */
async function offer({ source, out }: ReturnType<typeof stage>, bytes: number): Promise<void> {
  const there = once(out, 'readable');
  source.write(Buffer.alloc(bytes));
  await there;
}

test('a reader that takes nothing of what lies there is given up, and what it read from is closed', async () => {
  const at = stage();
  await offer(at, 1_000);
  vi.advanceTimersByTime(STALLED_MS - 1_000);
  expect(at.out.destroyed).toBe(false);
  const closed = once(at.source, 'close');
  vi.advanceTimersByTime(STALLED_MS / 4);
  expect(at.out.destroyed).toBe(true);
  await closed;
});

test('a slow reader is waited for as long as it takes anything, and a slow source costs its reader nothing', async () => {
  const at = stage();
  await offer(at, 100);
  for (let n = 0; n < 50; n += 1) {
    vi.advanceTimersByTime(STALLED_MS * 0.8);
    expect(at.out.read(1)).toHaveLength(1);
  }
  at.out.read();
  vi.advanceTimersByTime(STALLED_MS * 20);
  expect(at.out.destroyed).toBe(false);
  at.out.destroy();
});

test('a reader that goes on is given up once its place is wanted', async () => {
  let wanted = false;
  const at = stage(() => wanted);
  await offer(at, 100);
  vi.advanceTimersByTime(STALLED_MS / 2);
  expect(at.out.destroyed).toBe(false);
  wanted = true;
  vi.advanceTimersByTime(STALLED_MS / 8);
  expect(at.out.destroyed).toBe(true);
});

test('no key has more than its part, whoever waits is counted for it, and a full line gives back what was taken', async () => {
  const slots = requestSlots({ permits: 3, each: 2, waiting: 1 });
  const held = [await slots.acquire('a'), await slots.acquire('a')];
  const third = slots.acquire('a');
  await expect(slots.acquire('a')).rejects.toThrow('too many requests are waiting');
  expect([slots.waiting('a'), slots.waiting('b')]).toEqual([1, 0]);
  const other = await slots.acquire('b');
  const late = slots.acquire('b');
  await expect(slots.acquire('c')).rejects.toThrow('too many requests are waiting');
  expect([slots.waiting('a'), slots.waiting('b')]).toEqual([2, 1]);
  held[0]?.();
  held[0]?.();
  const got = await late;
  other();
  const mine = await third;
  for (const give of [...held, got, mine]) give();
  const all = [await slots.acquire('c'), await slots.acquire('c'), await slots.acquire('d')];
  expect(slots.waiting('c')).toBe(0);
  for (const give of all) give();
});
