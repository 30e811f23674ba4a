import { createRoute, z } from '@hono/zod-openapi';
import { expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { defineRoute } from '../../src/api/define-route.js';
import { okResponse } from '../../src/api/schemas.js';
import type { Deps } from '../../src/deps.js';
import { createTenant, createTestApp, createTestDeps } from '../support/create-test-app.js';

const Seen = z.object({ tenant: z.string().nullable(), role: z.string().nullable(), address: z.string().nullable() });
const described = { summary: 'x', responses: okResponse(Seen) };

const read = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({ ...described, method: 'get', path: '/api/seen' }),
  handle: async (c) =>
    c.json({ tenant: c.var.caller.tenant, role: c.var.caller.role, address: c.var.caller.address }, 200),
});
const write = defineRoute({
  access: { role: 'owner', person: true },
  route: createRoute({ ...described, method: 'post', path: '/api/seen' }),
  handle: async (c) =>
    c.json({ tenant: c.var.caller.tenant, role: c.var.caller.role, address: c.var.caller.address }, 200),
});
const metrics = defineRoute({
  access: 'metrics',
  route: createRoute({ ...described, method: 'get', path: '/api/numbers' }),
  handle: async (c) => c.json({ tenant: null, role: null, address: null }, 200),
});
const routes = [read, write, metrics];

async function devApp(publicUrl: string | null = null) {
  const { tenant } = await createTenant(await createTestDeps());
  const bootstrap = { account: tenant, email: 'x@y', password: null };
  const deps: Deps = await createTestDeps({ config: { devNoAuth: true, bootstrap, publicUrl } });
  const app = createApp(deps, routes);
  const send = async (method: string, headers: Record<string, string> = {}) =>
    (await app.request('http://localhost/api/seen', { method, headers: { host: 'localhost:4747', ...headers } }))
      .status;
  return { app, tenant, send };
}

test('with SERVICE_DEV_NO_AUTH a call without a credential is the bootstrap owner’s', async () => {
  const { app, tenant } = await devApp();
  expect(await (await app.request('/api/seen')).json()).toEqual({ tenant, role: 'owner', address: null });
  expect((await app.request('/api/seen', { method: 'POST' })).status).toBe(200);
});

test('with SERVICE_DEV_NO_AUTH a bad key is still a bad key', async () => {
  const { send } = await devApp();
  expect(await send('GET', { authorization: 'Bearer sbx_nope' })).toBe(401);
});

test('with SERVICE_DEV_NO_AUTH a name that was pointed at loopback gets in nowhere', async () => {
  const { send } = await devApp();
  expect(await send('GET', { host: 'evil.example:4747' })).toBe(401);
  expect(await send('GET', { host: '127.0.0.1.evil.example' })).toBe(401);
  expect(await send('GET', { host: '[::1]:4747' })).toBe(200);
});

test('security 26: a page of another origin cannot write with a credential that the browser adds', async () => {
  const { send } = await devApp('https://box.example.com');
  expect(await send('POST', { origin: 'https://evil.example' })).toBe(403);
  expect(await send('POST', { origin: 'null' })).toBe(403);
  expect(await send('POST', { 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await send('POST', { 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await send('POST', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' })).toBe(403);
  expect(await send('POST', { origin: 'http://localhost:4747' })).toBe(200);
  expect(await send('POST', { origin: 'https://box.example.com' })).toBe(200);
  expect(await send('POST', { 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await send('GET', { 'sec-fetch-site': 'cross-site' })).toBe(200);
});

test('a key never is a signed-in person, and needs no origin', async () => {
  const { post, get } = await createTestApp({ role: 'owner', routes });
  const refused = await post('/api/seen', undefined, { headers: { origin: 'https://evil.example' } });
  expect([refused.status, await refused.json()]).toEqual([
    403,
    { error: 'needs role owner', code: 'forbidden', need: 'owner' },
  ]);
  expect((await get('/api/seen')).status).toBe(200);
});

test('metrics take the metrics token, and no API key', async () => {
  const app = await createTestApp({ routes, config: { metricsToken: 'let-me-count' } });
  expect((await app.get('/api/numbers', { as: 'let-me-count' })).status).toBe(200);
  expect((await app.get('/api/numbers', { as: 'let-me-coun' })).status).toBe(401);
  expect((await app.get('/api/numbers', { as: null })).status).toBe(401);
  expect((await app.get('/api/numbers')).status).toBe(403);
});

test('security 25: the address is the right-most hop, and only when a proxy is trusted', async () => {
  const headers = { 'x-forwarded-for': '6.6.6.6, 10.0.0.7' };
  const address = async (trustProxy: boolean) => {
    const { get } = await createTestApp({ routes, config: { trustProxy } });
    return ((await (await get('/api/seen', { headers })).json()) as { address: string | null }).address;
  };
  expect([await address(true), await address(false)]).toEqual(['10.0.0.7', null]);
});

test.each([
  ['6.6.6.6, 192.0.2.7:50123', '192.0.2.7'],
  ['2001:db8::7', '2001:db8::7'],
  ['[2001:db8::7]:50123', '2001:db8::7'],
  ['192.0.2.7, unknown', null],
  ['192.0.2.7, <script>', null],
  ['', null],
])('security 25: of the hops %j the address is %s', async (hops, expected) => {
  const { get } = await createTestApp({ routes, config: { trustProxy: true } });
  const response = await get('/api/seen', { headers: { 'x-forwarded-for': hops } });
  expect(await response.json()).toMatchObject({ address: expected });
});

test('a 401 says how to authenticate', async () => {
  const { get } = await createTestApp({ routes });
  const response = await get('/api/seen', { as: null });
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
  expect(await response.json()).toEqual({
    error: 'no credential: send Authorization: Bearer <API key>',
    code: 'unauthenticated',
  });
});

test('a mistyped key is refused before the database is asked', async () => {
  const { key } = await createTestApp();
  // How busy the pool is, it knows without a question.
  const known = { pressure: () => ({ waitedMs: 0, lastAnswerMsAgo: 0 }) };
  const db = new Proxy(known, {
    get: (target, name) => {
      if (name === 'pressure') return target.pressure;
      throw new Error('asked');
    },
  }) as unknown as Deps['db'];
  const { log } = await createTestDeps();
  const app = createApp({ ...(await createTestDeps()), db, log }, routes);
  const typo = key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21);
  expect((await app.request('/api/seen', { headers: { authorization: `Bearer ${typo}` } })).status).toBe(401);
});
