import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { createAnswerCheck, type Description } from '../support/checked-answers.js';
import { createTestApp } from '../support/create-test-app.js';

interface Operation {
  readonly summary?: string;
  readonly operationId?: string;
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

async function readDocument(): Promise<Document> {
  const { get } = await createTestApp();
  return (await (await get('/docs/openapi.json', { as: null })).json()) as Document;
}

test('the description of the API is valid OpenAPI 3.1', async () => {
  const document = await readDocument();
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect([errors, valid, document.openapi]).toEqual([undefined, true, '3.1.0']);
});

test('every route is described, with a summary, its credential and its refusals', async () => {
  const { paths } = await readDocument();
  for (const { method, path, access } of routes) {
    const operation = paths[path]?.[method];
    expect([path, operation?.summary]).toEqual([path, expect.stringMatching(/\w/)]);
    const guarded = access !== 'open' && access !== 'token';
    const person = typeof access === 'object' && 'person' in access;
    const credentials = person ? [{ session: [] }] : [{ bearer: [] }, { session: [] }];
    expect([path, operation?.security]).toEqual([path, guarded ? credentials : []]);
    if (guarded) expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(['401', '403']));
  }
});

test('every operation has a name of its own, which a generated client can use', async () => {
  const { paths } = await readDocument();
  const names = routes.map(({ method, path }) => paths[path]?.[method]?.operationId ?? `none of ${path}`);
  for (const name of names) expect(name).toMatch(/^(get|post|put|patch|delete)[A-Z][a-zA-Z0-9]*$/);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(['getWorkspaces', 'getWorkspaceRun', 'postWorkspaceFlowRun']));
});

test('each answer names its headers: the request id on all, and when to try again', async () => {
  const { paths } = await readDocument();
  for (const { method, path } of routes) {
    for (const [status, { headers = {} }] of Object.entries(paths[path]?.[method]?.responses ?? {})) {
      const needed = ['X-Request-Id', ...(status === '429' || status === '503' ? ['Retry-After'] : [])];
      expect([path, status, Object.keys(headers)]).toEqual([path, status, expect.arrayContaining(needed)]);
    }
  }
});

test('an answer that does not fit the description fails the test that got it', async () => {
  const description = (await readDocument()) as unknown as Description;
  const check = createAnswerCheck(description);
  const request = { method: 'GET', path: '/api/me' };
  const fits = { account: 'a', name: 'a', owner: 'o', role: 'admin', workspaces: null, avatar: null };
  const actor = { kind: 'person', id: '1', email: 'a@x.test' };
  const answer = (body: object, init: ResponseInit = {}) =>
    Response.json(body, { ...init, headers: init.headers ?? { 'x-request-id': 'r' } });
  await check(request, answer({ ...fits, actor }));
  const wrong: readonly [Response, RegExp][] = [
    [answer({ ...fits, actor }, { headers: {} }), /carries no X-Request-Id/],
    [answer({ ...fits, actor, more: 1 }), /does not declare \.more/],
    [answer({ ...fits, actor: { ...actor, more: 1 } }), /does not declare \.actor\.more/],
    [answer(fits), /required property 'actor'/],
    [answer({ error: 'x' }, { status: 401 }), /required property 'code'/],
    [answer({ error: 'x', code: 'y' }, { status: 418 }), /does not declare this status/],
    [answer({ ...fits, actor }, { headers: { 'x-request-id': 'r', ETag: '"1"' } }), /does not declare the header etag/],
    [
      new Response('x', { headers: { 'x-request-id': 'r', 'content-type': 'text/plain' } }),
      /does not declare the type text\/plain/,
    ],
  ];
  for (const [response, fault] of wrong) await expect(check(request, response)).rejects.toThrow(fault);
  // Any JSON value may be null, and may not be left out.
  const audit = { method: 'GET', path: '/api/audit' };
  const by = { kind: 'person', id: '1', label: 'a' };
  const entry = { id: '1', at: '2026-01-01T00:00:00Z', actor: by, action: 'a', target: 't', address: null };
  const list = (more: object) => answer({ entries: [{ ...entry, ...more }], next: null });
  await check(audit, list({ detail: null }));
  await expect(check(audit, list({}))).rejects.toThrow(/required property 'detail'/);
  const needs = (name: string) => (description.components.schemas[name] as { required?: string[] }).required;
  expect(needs('Run')).toEqual(expect.arrayContaining(['input', 'trigger', 'startedBy']));
});

test('the description is open under /docs and takes a credential under /api', async () => {
  const { get } = await createTestApp({ role: 'viewer' });
  const [open, anonymous, guarded] = [
    await get('/docs/openapi.json', { as: null }),
    await get('/api/openapi.json', { as: null }),
    await get('/api/openapi.json'),
  ];
  expect([open.status, anonymous.status, guarded.status]).toEqual([200, 401, 200]);
  expect(await guarded.text()).toBe(await open.text());
});

test('the first page says what runs and where to go on, and can run nothing', async () => {
  const { get } = await createTestApp();
  const response = await get('/', { as: null });
  const page = await response.text();
  expect(response.headers.get('content-type')).toContain('text/html');
  expect(response.headers.get('content-security-policy')).not.toContain('script');
  expect(page).not.toContain('<script');
  for (const needed of ['0.0.0-test', '/docs/openapi.json', 'bootstrap.json']) expect(page).toContain(needed);
});
