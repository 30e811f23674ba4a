import { createRoute, z } from '@hono/zod-openapi';
import { streamSSE } from 'hono/streaming';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { defineRoute } from '../../src/api/define-route.js';
import { jsonBody, okResponse, rawResponse } from '../../src/api/schemas.js';
import { type ApiServer, serveApi } from '../../src/api/serve.js';
import { audit } from '../../src/people/index.js';
import { createTestApp, createTestDeps } from '../support/create-test-app.js';
import { endsWithin } from '../support/in-time.js';

const servers: ApiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

let release: () => void = () => undefined;
let arrived: Promise<void>;
let onArrival: () => void = () => undefined;
beforeEach(() => {
  arrived = new Promise((resolve) => {
    onArrival = resolve;
  });
});

const slow = defineRoute({
  access: 'open',
  route: createRoute({ method: 'get', path: '/slow', responses: okResponse(z.object({ ok: z.boolean() })) }),
  handle: async (c) => {
    await new Promise<void>((resolve) => {
      release = resolve;
      onArrival();
    });
    return c.json({ ok: true }, 200);
  },
});
const stream = defineRoute({
  access: 'open',
  route: createRoute({ method: 'get', path: '/stream', responses: { 200: rawResponse('text/event-stream', 'x') } }),
  handle: async (c) =>
    streamSSE(c, async (events) => {
      await events.writeSSE({ data: 'hello' });
      await new Promise<void>((resolve) => events.onAbort(resolve));
    }),
});

const keep = defineRoute({
  access: { role: 'editor' },
  route: createRoute({
    method: 'post',
    path: '/keep',
    request: { body: jsonBody(z.strictObject({ text: z.string() })) },
    responses: okResponse(z.object({ ok: z.boolean() })),
  }),
  handle: async (c) => {
    await audit(c.var.deps.db, c.var.caller, 'keep', '');
    return c.json({ ok: true }, 200);
  },
});

async function start({ port = 0, graceMs }: { port?: number; graceMs?: number } = {}): Promise<ApiServer> {
  const deps = await createTestDeps({ config: { port } });
  const server = await serveApi(deps, createApp(deps, [slow, stream]), graceMs);
  servers.push(server);
  return server;
}

test('port 0 takes a free port and says which', async () => {
  const { url } = await start();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
  expect((await fetch(`${url}/nothing`)).status).toBe(404);
});

test('a taken port is a sentence that says what to do', async () => {
  const { url } = await start();
  const port = Number(new URL(url).port);
  await expect(start({ port })).rejects.toThrow(
    `port ${port} on 127.0.0.1 is in use: stop the program that listens there, or set SERVICE_PORT`,
  );
});

test('closing ends streams and idle connections at once, lets an answer be finished, and frees the port', async () => {
  // Longer than this test may take: nothing here is ended because its time was up.
  const server = await start({ graceMs: 3_600_000 });
  const port = Number(new URL(server.url).port);
  const events = (await fetch(`${server.url}/stream`)).body?.getReader();
  await events?.read();
  await (await fetch(`${server.url}/idle`)).text();
  const answer = fetch(`${server.url}/slow`);
  await arrived;
  const closed = server.close();
  await expect(Promise.resolve(events?.read())).rejects.toThrow();
  release();
  expect(await (await answer).json()).toEqual({ ok: true });
  await closed;
  expect(await start({ port })).toMatchObject({ url: server.url });
});

test('closing waits no 5 s for an answer that never comes', async () => {
  const server = await start();
  const answer = fetch(`${server.url}/slow`).catch((error: unknown) => error);
  await arrived;
  expect(await endsWithin(5_000, server.close())).toBe(true);
  expect(await answer).toBeInstanceOf(Error);
});

test('over a real connection the caller’s address is known, and a refused big body is answered, not cut', async () => {
  const { deps, key, tenant } = await createTestApp({ config: { port: 0 } });
  const server = await serveApi(deps, createApp(deps, [keep]));
  servers.push(server);
  const post = (size: number, authorization: string) =>
    fetch(`${server.url}/keep`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'x'.repeat(size) }),
    });
  expect((await post(10, `Bearer ${key}`)).status).toBe(200);
  const rows = await deps.db.query('SELECT address FROM audit_entry WHERE tenant_id = $1', [tenant]);
  expect(rows).toEqual([{ address: '127.0.0.1' }]);
  for (let i = 0; i < 5; i += 1) {
    expect((await post(8_000_000, `Bearer ${key}`)).status).toBe(413);
    expect((await post(8_000_000, 'Bearer nothing')).status).toBe(401);
  }
});
