import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createRoute, z } from '@hono/zod-openapi';
import { afterEach, expect, test, vi } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { bodyStream } from '../../src/api/body-stream.js';
import { clientSignal } from '../../src/api/client-left.js';
import { defineRoute } from '../../src/api/define-route.js';
import { createLog } from '../../src/api/log.js';
import { routes as allRoutes } from '../../src/api/routes/index.js';
import { jsonBody, okResponse, rawResponse } from '../../src/api/schemas.js';
import { type ApiServer, serveApi } from '../../src/api/serve.js';
import { createTestApp } from '../support/create-test-app.js';
import { insertWorkspace } from '../support/workspace-row.js';

type Line = Readonly<Record<string, unknown>>;

const servers: ApiServer[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

let client: Socket;
const ok = okResponse(z.object({ ok: z.boolean() }));

/** The client leaves while the handler runs, and the server has noticed it. */
async function leave(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const noticed = once(signal, 'abort');
  client.destroy();
  await noticed;
}

const body = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'post',
    path: '/body',
    request: { body: jsonBody(z.strictObject({ text: z.string() })) },
    responses: ok,
  }),
  handle: async (c) => c.json({ ok: true }, 200),
});
const work = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'get',
    path: '/work/{end}',
    request: { params: z.object({ end: z.enum(['done', 'stopped', 'given-up', 'broken']) }) },
    responses: ok,
  }),
  handle: async (c) => {
    const signal = clientSignal(c);
    await leave(signal);
    const { end } = c.req.valid('param');
    if (end === 'stopped') signal.throwIfAborted();
    if (end === 'given-up') throw new Error('a part failed', { cause: new DOMException('stopped', 'AbortError') });
    if (end === 'broken') throw new TypeError('a fault of ours');
    return c.json({ ok: true }, 200);
  },
});
let streamEnded: Promise<unknown>;
const stream = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'get',
    path: '/stream',
    responses: { 200: rawResponse('application/octet-stream', 'x') },
  }),
  handle: async (c) => {
    const endless = new Readable({ read: () => setImmediate(() => endless.push('x'.repeat(1_000))) });
    streamEnded = new Promise((resolve) => endless.once('close', resolve));
    return c.body(bodyStream(c, endless), 200);
  },
});

async function start() {
  const { deps, tenant, key } = await createTestApp();
  const lines: Line[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  const server = await serveApi(deps, createApp({ ...deps, log }, [...allRoutes, body, work, stream]));
  servers.push(server);
  const said = (['error', 'info', 'log', 'warn'] as const).map((name) => vi.spyOn(console, name));
  const send = async (head: string) => {
    client = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(client, 'connect');
    client.write(head);
  };
  const request = () => vi.waitUntil(() => lines.find(({ msg }) => msg === 'request'), { timeout: 120_000 });
  const loud = () => [
    ...lines.filter(({ level }) => level === 'error' || level === 'warn'),
    ...said.flatMap(({ mock }) => mock.calls),
  ];
  return { deps, tenant, key, send, request, loud };
}

test('a client that leaves while its body is read is logged once, without an error', async () => {
  const { send, request, loud } = await start();
  await send('POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"te');
  client.destroy();
  expect(await request()).toMatchObject({ level: 'info', status: 400, clientLeft: true });
  expect(loud()).toEqual([]);
});

test.each([
  ['done', 200],
  ['stopped', 499],
  ['given-up', 499],
])('a client that leaves while the handler runs causes no error: work that is %s is %i', async (end, status) => {
  const { send, request, loud } = await start();
  await send(`GET /work/${end} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(await request()).toMatchObject({ level: 'info', status, clientLeft: true });
  expect(loud()).toEqual([]);
});

test('a fault of ours stays an error when the client has left', async () => {
  const { send, request, loud } = await start();
  await send('GET /work/broken HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await request()).toMatchObject({ status: 500, clientLeft: true });
  expect(loud()).toMatchObject([{ level: 'error', err: { message: 'a fault of ours' } }]);
});

test('a client that leaves while a stream is written ends it, without an error', async () => {
  const { send, request, loud } = await start();
  await send('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(client, 'data');
  client.destroy();
  await streamEnded;
  expect(await request()).toMatchObject({ level: 'info', status: 200 });
  expect(loud()).toEqual([]);
});

test.each(['git-receive-pack', 'git-upload-pack'])(
  'a git that leaves in the middle of %s is no error',
  async (service) => {
    const { deps, tenant, key, send, request, loud } = await start();
    await insertWorkspace(deps, tenant, 'shop');
    const auth = `Authorization: Basic ${Buffer.from(`x:${key}`).toString('base64')}`;
    await send(
      `POST /git/${tenant}/shop.git/${service} HTTP/1.1\r\nHost: x\r\n${auth}\r\nContent-Length: 5000\r\n\r\n00a5`,
    );
    client.destroy();
    expect((await request())?.status).not.toBe(500);
    expect(loud()).toEqual([]);
  },
);
