import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { receiveBody } from '../../src/api/routes/git.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const options = { isGzip: false, longestMs: 900_000, left: new AbortController().signal };
const SECOND = 1_000;

test.each([true, false])('a body arrives as it was sent, packed: %s', async (isGzip) => {
  const source = new PassThrough();
  const { body, signal } = receiveBody(source, { ...options, isGzip });
  const all = buffer(body);
  source.end(isGzip ? gzipSync('text') : 'text');
  expect(String(await all)).toBe('text');
  await vi.advanceTimersByTimeAsync(1_000 * SECOND);
  expect([signal.aborted, vi.getTimerCount()]).toEqual([false, 0]);
});

test.each([true, false])(
  'a silent body fails with 408 and says so, and the request stays whole for the answer; packed: %s',
  async (isGzip) => {
    const source = new PassThrough();
    const { body, signal } = receiveBody(source, { ...options, isGzip });
    const failed = expect(buffer(body)).rejects.toMatchObject({
      kind: 'timed_out',
      message: 'the request did not arrive in time: 5 bytes came, then nothing came for 60 s; try again',
      details: { code: 'body-timeout' },
    });
    await vi.advanceTimersByTimeAsync(59 * SECOND);
    source.write(gzipSync('text').subarray(0, 5));
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(59 * SECOND);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(2 * SECOND);
    await failed;
    expect([signal.aborted, source.destroyed]).toEqual([true, false]);
  },
);

test('a body that trickles for too long fails with 408', async () => {
  const source = new PassThrough();
  const failed = expect(buffer(receiveBody(source, options).body)).rejects.toMatchObject({
    kind: 'timed_out',
    message: expect.stringContaining('not all came within 15 minutes'),
  });
  for (let second = 0; second <= 900; second += 50) {
    source.write('a');
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(50 * SECOND);
  }
  await failed;
});

test('bytes that are not gzip are 400; a client that leaves is neither late nor wrong', async () => {
  const wrong = new PassThrough();
  wrong.end('text');
  await expect(buffer(receiveBody(wrong, { ...options, isGzip: true }).body)).rejects.toMatchObject({
    kind: 'malformed',
    message: expect.stringContaining('cannot be decoded as gzip'),
  });
  const left = new AbortController();
  const gone = expect(buffer(receiveBody(new PassThrough(), { ...options, left: left.signal }).body)).rejects;
  left.abort();
  await gone.toMatchObject({ name: 'ClientLeft' });
});

test.each([true, false])(
  'a body that the service does not read yet is not silent, and arrives whole; packed: %s',
  async (isGzip) => {
    const source = new PassThrough();
    const { body, signal } = receiveBody(source, { ...options, isGzip });
    // More than all the buffers on its way hold.
    const sent = randomBytes(2_000_000);
    source.end(isGzip ? gzipSync(sent) : sent);
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(600 * SECOND);
    expect(signal.aborted).toBe(false);
    vi.useRealTimers();
    expect((await buffer(body)).equals(sent)).toBe(true);
  },
);
