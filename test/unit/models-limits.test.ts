import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ModelError } from '../../src/models/contract.js';
import { ask, modelsOf, single } from '../support/models-fixture.js';

const MIB = 1_048_576;

let respond: (response: ServerResponse) => unknown;
let calls = 0;
let sent = 0;
const server = createServer((request, response) => {
  calls += 1;
  request.resume().on('end', () => void respond(response));
});
beforeEach(async () => {
  calls = 0;
  sent = 0;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

async function failureOf(more: { idleMs?: number; callTimeoutMs?: number } = {}): Promise<ModelError> {
  const { callTimeoutMs, ...rest } = more;
  const config = {
    ...single(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`),
    ...(callTimeoutMs ? { callTimeoutMs } : {}),
  };
  const models = modelsOf(config, rest);
  const error = await models.call(ask(models.resolve(null, {})[0])).then(
    () => new Error('the call did not fail'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError)) throw error;
  expect(models.failing()).toEqual(error.kind === 'transient' ? [expect.anything()] : []);
  return error;
}

const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** Sends a piece for ever, until the caller hangs up. */
async function sendForEver(response: ServerResponse, piece: string | Buffer): Promise<void> {
  while (!response.destroyed) {
    sent += piece.length;
    if (!response.write(piece)) {
      const over = new AbortController();
      const events = ['drain', 'close'].map((name) => once(response, name, { signal: over.signal }));
      await Promise.race(events);
      over.abort();
      await Promise.allSettled(events);
    }
  }
}

test.each([
  ['an answer without an end', () => chunk('word '.repeat(2_000))],
  ['a line without an end', () => 'data: '.padEnd(65_536, 'x').replaceAll('\n', '')],
  [
    'reasoning without an end',
    () => `data: ${JSON.stringify({ choices: [{ delta: { reasoning: 'hm '.repeat(3_000) } }] })}\n\n`,
  ],
  [
    'arguments without an end',
    () =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: 'x'.repeat(9_000) } }] } }] })}\n\n`,
  ],
])('%s is cut off at its limit, refused and not asked for again', async (_name, piece) => {
  respond = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return sendForEver(response, piece());
  };
  const error = await failureOf();
  expect(error.kind).toBe('refused');
  expect(error.ours).toBe(false);
  expect(error.message).toMatch(/it sent an (answer|event) larger than (4|8) MiB, and the call was given up/);
  expect(calls).toBe(1);
  expect(sent).toBeLessThan(40 * MIB);
});

test('what is compressed counts by what it unpacks to', async () => {
  const bomb = gzipSync(chunk('a'.repeat(1_000)).repeat(100_000));
  expect(bomb.length).toBeLessThan(MIB);
  respond = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    response.end(bomb);
  };
  const error = await failureOf();
  expect([error.kind, error.brief]).toEqual(['refused', 'sent an answer larger than 8 MiB']);
});

test.each([
  [500, 'text/html'],
  [400, 'application/json'],
  [503, 'text/plain'],
  [200, 'application/json'],
  [200, 'text/html'],
])('a page of %i (%s) without an end is refused and not asked for again', async (status, type) => {
  respond = (response) => {
    response.writeHead(status, { 'content-type': type });
    return sendForEver(response, '<p>very sorry</p>'.repeat(4_000));
  };
  const error = await failureOf();
  expect([error.kind, error.brief]).toEqual(['refused', `sent a page (status ${status}) larger than 1 MiB`]);
  expect(sent).toBeLessThan(20 * MIB);
});

test('a compressed error page counts by what it unpacks to', async () => {
  respond = (response) => {
    response.writeHead(502, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
    const gzip = createGzip();
    gzip.pipe(response);
    gzip.end('<p>very sorry</p>'.repeat(1_000_000));
  };
  expect((await failureOf()).brief).toBe('sent a page (status 502) larger than 1 MiB');
});

test('an error page of a usual size keeps its class', async () => {
  respond = (response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end(`<html><title>Bad Gateway</title>${'<p>very sorry</p>'.repeat(20_000)}</html>`);
  };
  const error = await failureOf();
  expect(error.kind).toBe('transient');
  expect(error.message).toContain('a web page: Bad Gateway');
});

test('an answer of some megabytes in many events is taken whole', async () => {
  const words = 'a large answer, '.repeat(1_000);
  respond = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let at = 0; at < 200; at += 1) response.write(chunk(words));
    response.end(`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
  };
  const models = modelsOf(single(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`));
  expect((await models.call(ask(models.resolve(null, {})[0]))).text).toBe(words.repeat(200));
});

test('bytes that never make an event are silence: they are given up like it', async () => {
  respond = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[{"delta":{"content":"');
    while (!response.destroyed) {
      response.write('a');
      await wait(20);
    }
  };
  const error = await failureOf({ idleMs: 300 });
  expect([error.kind, error.brief]).toEqual(['transient', 'sent nothing but signs of life for 0.3 s']);
});

test('an answer that goes on and on is given up when the call has taken its whole time', async () => {
  respond = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!response.destroyed) {
      response.write(chunk('and '));
      await wait(20);
    }
  };
  const error = await failureOf({ callTimeoutMs: 400 });
  expect([error.kind, error.brief]).toEqual(['refused', 'did not finish its answer within 0.4 s']);
  expect(error.cut?.usage.output).toBeGreaterThan(0);
});
