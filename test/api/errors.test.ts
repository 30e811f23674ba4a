import { createRoute, z } from '@hono/zod-openapi';
import { expect, test } from 'vitest';
import { defineRoute } from '../../src/api/define-route.js';
import { jsonBody, okResponse, Page, WorkspaceParams } from '../../src/api/schemas.js';
import { audit } from '../../src/people/index.js';
import { createTestApp } from '../support/create-test-app.js';
import { recordingLog } from '../support/recording-log.js';
import { insertWorkspace } from '../support/workspace-row.js';

const Body = z.strictObject({
  description: z.string().max(10).optional(),
  files: z.array(z.strictObject({ path: z.string(), content: z.string() })).optional(),
  text: z.string().optional(),
  kind: z.enum(['a', 'b']).optional(),
  one: z
    .strictObject({ of: z.enum(['a', 'b']), yes: z.literal(true), any: z.union([z.string(), z.number()]) })
    .optional(),
});
const Ok = z.object({ ok: z.boolean() });

const write = defineRoute({
  access: { role: 'editor' },
  maxBodyBytes: 2_000,
  route: createRoute({
    method: 'post',
    path: '/api/test',
    request: { body: jsonBody(Body) },
    responses: okResponse(Ok),
  }),
  handle: async (c) => {
    await audit(c.var.deps.db, c.var.caller, 'test', c.req.valid('json').text ?? '');
    return c.json({ ok: true }, 200);
  },
});
const list = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/test',
    request: { query: Page.extend({ token: z.string().optional() }) },
    responses: okResponse(Page),
  }),
  handle: async (c) => c.json(c.req.valid('query'), 200),
});
const broken = defineRoute({
  access: 'open',
  route: createRoute({ method: 'get', path: '/api/broken', responses: okResponse(Ok) }),
  handle: async () => {
    throw new Error('the password is hunter2');
  },
});
const inWorkspace = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'put',
    path: '/api/workspaces/{ws}/test',
    request: { params: WorkspaceParams, body: jsonBody(Body) },
    responses: okResponse(Ok),
  }),
  handle: async (c) => c.json({ ok: true }, 200),
});
const large = defineRoute({
  access: { role: 'editor' },
  route: createRoute({
    method: 'post',
    path: '/api/large',
    request: { body: jsonBody(Body) },
    responses: okResponse(Ok),
  }),
  handle: async (c) => c.json({ ok: true }, 200),
});
const testRoutes = [write, list, broken, inWorkspace, large];
const json = { 'content-type': 'application/json' };

async function post(
  body: string,
  headers: Record<string, string> = json,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { request } = await createTestApp({ routes: testRoutes });
  const response = await request('/api/test', { method: 'POST', headers, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('JSON that does not parse is 400 and says where', async () => {
  expect(await post('{"a":')).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('the body is not JSON') },
  });
});

test('a key that stands twice in one object is 400, on every level', async () => {
  for (const body of [
    '{"text":"a","text":"b"}',
    '{"text":"a","\\u0074ext":"b"}',
    '{"files":[{"path":"a","path":"b"}]}',
  ])
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { code: 'duplicate-key', error: expect.stringMatching(/the key "(text|path)" twice/) },
    });
});

test('an empty body is told from JSON that is cut off', async () => {
  expect(await post('')).toMatchObject({ status: 400, body: { error: 'the body is empty: send JSON, {} at least' } });
});

test('a key that is not there is missing', async () => {
  const sent = await post(JSON.stringify({ files: [{ path: 'a' }] }));
  expect(sent.body.error).toBe('body.files.0.content: is missing: expected a text');
  const { body } = await post('{"one":{}}');
  expect(body.issues).toEqual([
    { path: 'body.one.of', message: 'is missing: expected one of: a, b' },
    { path: 'body.one.yes', message: 'is missing: expected true' },
    { path: 'body.one.any', message: 'is missing: expected a text or a number' },
  ]);
});

test('a word that is none of those that there are is told them', async () => {
  const { body } = await post('{"kind":"c"}');
  expect(body.error).toBe('body.kind: must be one of: a, b');
});

test('a key that stands twice in a query is told so', async () => {
  const { get } = await createTestApp({ routes: testRoutes });
  for (const twice of ['limit=1&limit=2', 'cursor=a&cursor=b']) {
    const response = await get(`/api/test?${twice}`);
    const path = `query.${twice.slice(0, twice.indexOf('='))}`;
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { issues: [{ path, message: 'sent more than once: send it once' }] },
    ]);
  }
});

test('a body of another type is 415 and says what to send', async () => {
  const sent = await post('a=1', { 'content-type': 'application/x-www-form-urlencoded' });
  expect(sent).toMatchObject({
    status: 415,
    body: { error: expect.stringContaining('Content-Type: application/json') },
  });
});

test('every fault of a body comes at once, each with its path', async () => {
  const sent = await post(JSON.stringify({ description: 'far too long a text', files: [{ path: 1, content: '' }] }));
  expect(sent.status).toBe(422);
  expect((sent.body.issues as { path: string }[]).map(({ path }) => path)).toEqual([
    'body.description',
    'body.files.0.path',
  ]);
});

test('an unknown key is refused with the key that was meant, on every level', async () => {
  const sent = await post(JSON.stringify({ desription: '', files: [{ path: 'a', contents: '' }] }));
  expect(sent.status).toBe(422);
  expect(sent.body.issues).toEqual(
    expect.arrayContaining([
      { path: 'body.desription', message: 'unknown key; did you mean "description"?' },
      { path: 'body.files.0.contents', message: 'unknown key; did you mean "content"?' },
    ]),
  );
});

test('an unknown key that resembles none is answered with the keys there are', async () => {
  const sent = await post('{"zzz":1}');
  expect(sent.body.error).toBe('body.zzz: unknown key; it may be: description, files, text, kind, one');
});

test('of very many faults an answer names a hundred and counts the rest', async () => {
  const { post } = await createTestApp({ routes: testRoutes });
  const response = await post('/api/large', Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, 0])));
  const body = (await response.json()) as { error: string; issues: object[] };
  expect([response.status, body.issues.length]).toEqual([422, 100]);
  expect(body.error).toContain('(and 49999 more)');
});

test('a body of more values than any document has is 422 before it is built', async () => {
  const { request } = await createTestApp({ routes: testRoutes });
  const response = await request('/api/large', { method: 'POST', headers: json, body: `[${'[],'.repeat(300_000)}0]` });
  expect(response.status).toBe(422);
  expect(await response.json()).toEqual({ error: 'the body holds more than 200000 values', code: 'refused' });
});

test('a bad query is 422 with its path', async () => {
  const { get } = await createTestApp({ routes: testRoutes });
  const response = await get('/api/test?limit=900');
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ issues: [{ path: 'query.limit' }] });
});

test('a body deeper than any document is 422 instead of a crash', async () => {
  expect((await post(`${'['.repeat(900)}${']'.repeat(900)}`)).status).toBe(422);
});

test('a text that the database cannot hold is 422', async () => {
  expect((await post(JSON.stringify({ text: 'a\u0000b' }))).status).toBe(422);
});

test('a body over the limit is 413, told by its length or counted as it comes', async () => {
  expect((await post(JSON.stringify({ text: 'x'.repeat(3_000) }))).status).toBe(413);
  const { request } = await createTestApp({ routes: testRoutes });
  const chunks = new ReadableStream({
    start: (controller) => {
      for (let i = 0; i < 30; i += 1) controller.enqueue(new TextEncoder().encode('x'.repeat(100)));
      controller.close();
    },
  });
  const init = { method: 'POST', headers: json, body: chunks, duplex: 'half' } as RequestInit;
  expect((await request('/api/test', init)).status).toBe(413);
});

test('an unknown route is 404 in JSON', async () => {
  const { get } = await createTestApp({ routes: testRoutes });
  const response = await get('/api/nothing');
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: expect.stringContaining('no such route'), code: 'not-found' },
  ]);
});

test('a wrong method is 405 with the methods that are allowed', async () => {
  const { delete: remove } = await createTestApp({ routes: testRoutes });
  const response = await remove('/api/test');
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
});

test('an unknown error says nothing but a request id that the log has too', async () => {
  const lines: object[] = [];
  const app = await createTestApp({ routes: testRoutes, deps: { log: recordingLog(lines) } });
  const response = await app.get('/api/broken', { as: null });
  const requestId = response.headers.get('x-request-id');
  expect([response.status, await response.json()]).toEqual([
    500,
    { error: 'internal error', code: 'internal', requestId },
  ]);
  expect(lines).toContainEqual(
    expect.objectContaining({ requestId, err: expect.objectContaining({ message: 'the password is hunter2' }) }),
  );
});

test('a request is one line in the log, without its credential and without a token of its address', async () => {
  const lines: object[] = [];
  const app = await createTestApp({ routes: testRoutes, deps: { log: recordingLog(lines) } });
  await app.get('/api/test?limit=3&token=s3cr3t', { headers: { cookie: 'service_session=abc' } });
  expect(lines).toEqual([
    expect.objectContaining({ method: 'GET', path: '/api/test?limit=3&token=[redacted]', status: 200 }),
  ]);
  expect(JSON.stringify(lines)).not.toMatch(new RegExp(`s3cr3t|service_session|${app.key}`));
});

test('every response carries a request id, the version and the headers that keep browsers safe', async () => {
  const { get, key } = await createTestApp({ routes: testRoutes });
  for (const [path, as] of [
    ['/api/test', key],
    ['/api/test', null],
    ['/nothing', null],
    ['/api/broken', null],
  ] as const) {
    const { headers } = await get(path, { as });
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/);
    expect(headers.get('service-version')).toBe('0.0.0-test');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  }
});

test('the order of refusals is credential, thing, role, body', async () => {
  const { request, deps, tenant } = await createTestApp({ role: 'editor', routes: testRoutes });
  await insertWorkspace(deps, tenant, 'ours');
  const put = async (ws: string, as?: null) =>
    (
      await request(`/api/workspaces/${ws}/test`, {
        method: 'PUT',
        headers: json,
        body: '{',
        ...(as === null && { as }),
      })
    ).status;
  expect([await put('missing', null), await put('missing'), await put('ours')]).toEqual([401, 404, 403]);
});
