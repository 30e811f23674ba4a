import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BodyBudget, readBytes } from '../../src/api/take-body.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const rules = { maxBytes: 1_000_000, unproven: null, deadline: { idleMs: 10_000, minBytesPerSecond: 100 } };

test('a body is the bytes that came', async () => {
  const source = new PassThrough();
  const taken = readBytes(source, rules);
  source.write('a');
  source.end('bc');
  expect((await taken).toString()).toBe('abc');
});

test('a silent body is refused when its time is over, and the stream stays whole for the refusal', async () => {
  const source = new PassThrough();
  const taken = readBytes(source, rules);
  source.write('a'.repeat(100_000));
  await vi.advanceTimersByTimeAsync(9_000);
  source.write('a');
  await vi.advanceTimersByTimeAsync(9_000);
  const refused = expect(taken).rejects.toMatchObject({ kind: 'timed_out', details: { code: 'body-timeout' } });
  await vi.advanceTimersByTimeAsync(2_000);
  await refused;
  expect(source.destroyed).toBe(false);
});

test('a body of one byte now and then is refused, and one at the least rate is not', async () => {
  const slow = new PassThrough();
  const refused = expect(readBytes(slow, rules)).rejects.toMatchObject({ kind: 'timed_out' });
  const steady = new PassThrough();
  const taken = readBytes(steady, rules);
  for (let second = 0; second < 100; second += 1) {
    slow.write('a');
    steady.write('a'.repeat(100));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await refused;
  steady.end();
  expect((await taken).byteLength).toBe(10_000);
});

test('bytes that came at once buy no time for a trickle after them', async () => {
  const source = new PassThrough();
  const refused = expect(readBytes(source, rules)).rejects.toMatchObject({ kind: 'timed_out' });
  source.write('a'.repeat(900_000));
  for (let second = 0; second < 30; second += 1) {
    source.write('a');
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await refused;
});

test('a body over its limit is refused at the first byte too many, and leaves the stream whole', async () => {
  const source = new PassThrough();
  const taken = readBytes(source, { ...rules, maxBytes: 3 });
  source.write('abcd');
  await expect(taken).rejects.toMatchObject({ kind: 'too_large', message: 'the body is over the limit of 3 bytes' });
  expect(source.destroyed).toBe(false);
});

test('a client that leaves is a refusal and no fault of ours', async () => {
  const source = new PassThrough();
  const taken = readBytes(source, rules);
  source.destroy(new Error('aborted'));
  await expect(taken).rejects.toMatchObject({ kind: 'malformed' });
});

test('unproven bodies share a budget, and give it back when they are taken, refused or left', async () => {
  const unproven = new BodyBudget(10);
  const take = (source: PassThrough) => readBytes(source, { ...rules, unproven });
  const [first, second, third] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const taken = take(first);
  first.write('a'.repeat(8));
  const refused = take(second);
  second.write('a'.repeat(8));
  await expect(refused).rejects.toMatchObject({ kind: 'unavailable', details: { code: 'overloaded', retryAfter: 5 } });
  first.end();
  expect((await taken).byteLength).toBe(8);
  const again = take(third);
  third.end('a'.repeat(10));
  expect((await again).byteLength).toBe(10);
});
