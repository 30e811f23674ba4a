import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { createTestApp } from '../support/create-test-app.js';

interface Operation {
  readonly summary?: string;
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, unknown>>;
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
