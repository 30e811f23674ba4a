import { beforeAll, expect, test } from 'vitest';
import { createKey, createTestApp, type TestApp } from '../support/create-test-app.js';
import { bodyOf } from '../support/workspace-app.js';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ config: { publicUrl: 'https://box.example.com' } });
});

const SECRET = 'hunter2-client-secret';
const register = (body: unknown) => app.post('/api/oauth/clients', body);

test('a built-in provider needs its id and its secret, and is listed with its shape and never its secret', async () => {
  const response = await register({ name: 'google', client: 'id-1', config: { client_secret: SECRET } });
  const made = await bodyOf(response);
  expect([response.status, made]).toEqual([
    201,
    {
      name: 'google',
      client: 'id-1',
      config: {
        provider: 'google',
        authorize_url: 'https://accounts.google.com/o/oauth2/v2/auth',
        token_url: 'https://oauth2.googleapis.com/token',
        scopes: ['https://www.googleapis.com/auth/userinfo.email'],
        params: { access_type: 'offline', prompt: 'consent' },
      },
      redirectUri: 'https://box.example.com/api/oauth/callback',
      createdAt: expect.any(String),
    },
  ]);
  const list = await app.get('/api/oauth/clients');
  const text = await list.text();
  expect(text).not.toContain('hunter2');
  const { clients, providers } = JSON.parse(text);
  expect(clients).toContainEqual(made);
  const names = providers.map(({ provider }: { provider: string }) => provider);
  expect(names).toEqual(expect.arrayContaining(['github', 'google', 'hubspot', 'microsoft', 'notion', 'slack']));
});

test('security 18: the client’s secret is in the database sealed, and in no log of what was done', async () => {
  await register({ name: 'sealed', client: 'id-2', config: { provider: 'github', client_secret: SECRET } });
  const rows = await app.deps.db.query('SELECT * FROM oauth_client WHERE tenant_id = $1', [app.tenant]);
  const audits = await app.deps.db.query('SELECT actor, detail FROM audit_entry WHERE tenant_id = $1', [app.tenant]);
  const bytes = Object.values(rows.at(-1) as object).map((value) =>
    Buffer.isBuffer(value) ? value.toString('latin1') : value,
  );
  expect(JSON.stringify([bytes, audits])).not.toContain('hunter2');
});

test('any other provider is registered by its URLs, and what is named beside a shape overrides it', async () => {
  const urls = { authorize_url: 'https://id.example/authorize', token_url: 'https://id.example/token' };
  const own = await bodyOf(register({ name: 'acme', client: 'a', config: { ...urls, auth: 'none' } }));
  expect(own.config).toEqual({ provider: null, ...urls, scopes: [], params: {} });
  const more = { scopes: ['Mail.Send'], params: { prompt: 'select_account' }, client_secret: SECRET };
  const tenant = 'https://login.microsoftonline.com/acme/oauth2/v2.0';
  const config = { provider: 'microsoft', token_url: `${tenant}/token`, ...more };
  expect((await bodyOf(register({ name: 'mail', client: 'm', config }))).config).toEqual({
    provider: 'microsoft',
    authorize_url: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token_url: `${tenant}/token`,
    scopes: ['Mail.Send'],
    params: { prompt: 'select_account' },
  });
});

const urls = { authorize_url: 'https://id.example/a', token_url: 'https://id.example/t', client_secret: SECRET };
test.each([
  [
    'no URLs and no shape',
    { name: 'acme-2', client: 'a', config: { client_secret: SECRET } },
    /config.provider, or both/,
  ],
  ['a shape that is none', { name: 'x', client: 'a', config: { ...urls, provider: 'nope' } }, /none of airtable/],
  ['no secret', { name: 'github', client: 'a' }, /client_secret/],
  ['a name that is none', { name: 'A b', client: 'a', config: urls }, /lower-case words/],
  [
    'a private token endpoint',
    { name: 'x', client: 'a', config: { ...urls, token_url: 'https://10.0.0.1/t' } },
    /private/,
  ],
  [
    'a token endpoint without TLS',
    { name: 'x', client: 'a', config: { ...urls, token_url: 'http://id.example/t' } },
    /https only/,
  ],
  [
    'an authorize URL that is a script',
    { name: 'x', client: 'a', config: { ...urls, authorize_url: 'javascript:alert(1)' } },
    /use https/,
  ],
  [
    'a parameter that is ours',
    { name: 'x', client: 'a', config: { ...urls, params: { State: 'x' } } },
    /State is set by/,
  ],
  ['an unknown key', { name: 'x', client: 'a', config: { ...urls, tokenurl: 'x' } }, /token_url/],
])('what cannot be used is refused: %s', async (_what, body, message) => {
  const response = await register(body);
  const text = await response.text();
  expect([response.status, text]).toEqual([422, expect.stringMatching(message)]);
  expect(text).not.toContain('hunter2');
});

test('a name is there once, in each account, and a deleted one is free again', async () => {
  const body = { name: 'once', client: 'a', config: urls };
  expect((await register(body)).status).toBe(201);
  expect((await register(body)).status).toBe(409);
  const other = await createTestApp();
  expect((await other.post('/api/oauth/clients', body)).status).toBe(201);
  expect((await bodyOf(other.get('/api/oauth/clients'))).clients).toHaveLength(1);
  expect((await app.delete('/api/oauth/clients?name=once')).status).toBe(200);
  expect((await app.delete('/api/oauth/clients?name=once')).status).toBe(404);
  expect((await bodyOf(other.get('/api/oauth/clients'))).clients).toHaveLength(1);
  expect((await register(body)).status).toBe(201);
});

test('viewers read which clients there are; editors register none', async () => {
  const { deps, tenant, owner } = app;
  const as = await createKey(deps, { tenant, owner, role: 'editor' });
  expect((await app.get('/api/oauth/clients', { as })).status).toBe(200);
  expect((await app.post('/api/oauth/clients', { name: 'x', client: 'a', config: urls }, { as })).status).toBe(403);
  expect((await app.delete('/api/oauth/clients?name=once', { as })).status).toBe(403);
});

test('a connection is begun by a person and never by a key', async () => {
  const response = await app.post('/api/oauth/start', { client: 'google', secret: 'SHOP' });
  expect([response.status, await response.json()]).toMatchObject([403, { need: 'person' }]);
});

test('security 24: an admin who is narrowed to some workspaces changes no client, which every workspace uses', async () => {
  const narrow = await createKey(app.deps, { ...app, role: 'admin', workspaces: ['shop'] });
  const body = { name: 'evil', client: 'id-3', config: { provider: 'google', client_secret: SECRET } };
  await register({ ...body, name: 'kept' });
  const refused = [
    await app.post('/api/oauth/clients', body, { as: narrow }),
    await app.delete('/api/oauth/clients?name=kept', { as: narrow }),
  ];
  for (const answer of refused) {
    expect([answer.status, await bodyOf(answer)]).toMatchObject([403, { need: 'every workspace' }]);
  }
  const { clients } = await bodyOf(app.get('/api/oauth/clients'));
  const names = clients.map(({ name }: { name: string }) => name);
  expect([names.includes('kept'), names.includes('evil')]).toEqual([true, false]);
});
