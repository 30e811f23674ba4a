import { expect, test } from 'vitest';
import { liveToken, openSecret } from '../../src/secrets/index.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { CLIENT, type OAuthProvider, type ProviderOptions, startOAuthProvider } from '../support/oauth-provider.js';
import { createPerson, type SignedIn, signIn } from '../support/sessions.js';
import { bodyOf } from '../support/workspace-app.js';
import { insertWorkspace } from '../support/workspace-row.js';

interface Begun {
  readonly url: URL;
  readonly state: string;
  readonly code: string;
  readonly nonce: string;
}

interface Stage {
  readonly app: TestApp;
  readonly provider: OAuthProvider;
  readonly person: SignedIn;
  start(more?: object, as?: SignedIn, cookie?: string): Promise<Begun>;
  /** The provider's redirect, as the browser follows it. */
  back(query: Record<string, string>, nonce: string | null, as?: SignedIn): Promise<Response>;
  read(workspace?: string): ReturnType<typeof openSecret>;
}

async function createStage(options: ProviderOptions = {}, config: object = {}): Promise<Stage> {
  const provider = await startOAuthProvider(options);
  const app = await createTestApp({ config: { allowHosts: [{ host: '127.0.0.1', port: null }] } });
  const person = await signIn(app, await createPerson(app, 'admin'));
  const urls = { authorize_url: provider.authorizeUrl, token_url: provider.tokenUrl };
  const made = await app.post('/api/oauth/clients', {
    name: 'shop',
    client: CLIENT.id,
    config: { ...urls, client_secret: CLIENT.secret, scopes: ['orders', 'offline'], ...config },
  });
  expect(made.status, await made.clone().text()).toBe(201);
  return {
    ...{ app, provider, person },
    async start(more = {}, as = person, cookie = as.cookie) {
      const response = await as.call(
        'POST',
        '/api/oauth/start',
        { client: 'shop', secret: 'SHOP', ...more },
        { cookie },
      );
      expect(response.status, await response.clone().text()).toBe(200);
      const { url } = await bodyOf(response);
      const nonce = /service_oauth=([\w-]{43});/.exec(response.headers.get('set-cookie') ?? '')?.[1] ?? '';
      return { url: new URL(url), nonce, ...provider.agree(url) };
    },
    back: (query, nonce, as = person) =>
      as.call('GET', `/api/oauth/callback?${new URLSearchParams(query)}`, undefined, {
        cookie: nonce === null ? as.cookie : `${as.cookie}; service_oauth=${nonce}`,
        'sec-fetch-site': 'cross-site',
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      }),
    read: (workspace) =>
      openSecret(app.deps.db, app.deps.keys, { tenant: app.tenant, workspace: workspace ?? null, name: 'SHOP' }),
  };
}

function expectPage(response: Response, status: number): void {
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toMatch(/^text\/html/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/script-src|unsafe/);
}

test('a person connects: PKCE and state go out, the code comes back, the recipe becomes the secret', async () => {
  const { app, provider, start, back, read } = await createStage();
  const { url, state, code, nonce } = await start();
  expect(`${url.origin}${url.pathname}`).toBe(provider.authorizeUrl);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: CLIENT.id,
    redirect_uri: 'http://127.0.0.1:4747/api/oauth/callback',
    response_type: 'code',
    scope: 'orders offline',
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  expect(url.href).not.toContain(CLIENT.secret);

  const response = await back({ state, code, scope: 'orders', session_state: 'whatever' }, nonce);
  expectPage(response, 200);
  expect(await response.text()).toContain('<strong>SHOP</strong>');
  const secret = await read();
  expect(secret).toMatchObject({
    shape: 'oauth2',
    status: 'ok',
    value: {
      token_url: provider.tokenUrl,
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      refresh_token: 'refresh-token-2',
    },
  });
  if (secret === null) throw new Error('no secret');
  expect((await liveToken(app.deps, secret)).token, 'the token that came along serves first').toBe('access-token-2');
  expect(provider.asked).toHaveLength(1);
  const actions = await app.deps.db.query(
    "SELECT action, actor->>'kind' AS kind FROM audit_entry WHERE tenant_id = $1 AND action LIKE 'oauth.%' ORDER BY id",
    [app.tenant],
  );
  expect(actions).toEqual([
    { action: 'oauth.client.create', kind: 'key' },
    { action: 'oauth.start', kind: 'person' },
    { action: 'oauth.connect', kind: 'person' },
  ]);
});

test('a secret goes into the vault that was named, and over a connection that was lost', async () => {
  const { app, start, back, read } = await createStage();
  const id = await insertWorkspace(app.deps, app.tenant, 'tea');
  const first = await start({ workspace: 'tea' });
  await back({ state: first.state, code: first.code }, first.nonce);
  expect(await read()).toBeNull();
  expect(await read(id)).toMatchObject({ store: 'workspace', status: 'ok' });
  await app.deps.db.query("UPDATE secret SET status = 'reconnect' WHERE workspace_id = $1", [id]);
  const second = await start({ workspace: 'tea' });
  expectPage(await back({ state: second.state, code: second.code }, second.nonce), 200);
  expect(await read(id)).toMatchObject({ status: 'ok', value: { refresh_token: 'refresh-token-3' } });
});

test('security 28: a state is used once, also of 20 that come at once', async () => {
  const { provider, start, back } = await createStage();
  const { state, code, nonce } = await start();
  const all = await Promise.all(Array.from({ length: 20 }, () => back({ state, code }, nonce)));
  expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
  expect(provider.asked).toHaveLength(1);
  const late = await back({ state, code }, nonce);
  expectPage(late, 409);
  expect(await late.text()).toContain('used already');
});

test('security 28: a state is good for the person who began it, in the browser where they did', async () => {
  const { app, provider, start, back, read } = await createStage();
  const { state, code, nonce } = await start();
  const other = await signIn(app, await createPerson(app, 'admin'));
  const begunByOther = await start({}, other);
  const stranger = await createTestApp();
  const foreign = await signIn(stranger, await createPerson(stranger, 'admin'));

  const calls = [
    back({ state, code }, nonce, other),
    back({ state, code }, begunByOther.nonce, other),
    back({ state, code }, null),
    back({ state, code }, 'a'.repeat(43)),
    back({ state, code }, begunByOther.nonce),
    back({ state: 'x'.repeat(43), code }, nonce),
    back({ code }, nonce),
    stranger.request(`/api/oauth/callback?state=${state}&code=${code}`, {
      as: null,
      headers: { cookie: `${foreign.cookie}; service_oauth=${nonce}` },
    }),
  ];
  for (const response of await Promise.all(calls)) expect([403, 422]).toContain(response.status);
  expect(provider.asked).toEqual([]);
  expect(await read()).toBeNull();
  expectPage(await back({ state, code }, nonce), 200);
});

test('security 28: a state ends after ten minutes', async () => {
  const { app, start, back, provider } = await createStage();
  const response = await createExpiry(app, start);
  const late = await back({ state: response.state, code: response.code }, response.nonce);
  expectPage(late, 409);
  expect(await late.text()).toContain('within ten minutes');
  expect(provider.asked).toEqual([]);
});

async function createExpiry(app: TestApp, start: Stage['start']): Promise<Begun> {
  const begun = await start();
  const [row] = await app.deps.db.query<{ minutes: number }>(
    'SELECT extract(epoch FROM expires_at - created_at)::float8 / 60 AS minutes FROM oauth_state WHERE tenant_id = $1',
    [app.tenant],
  );
  expect(row?.minutes).toBeCloseTo(10, 1);
  await app.deps.db.query(`UPDATE oauth_state SET expires_at = now() - interval '1 s' WHERE tenant_id = $1`, [
    app.tenant,
  ]);
  return begun;
}

test('two connections that are begun in one browser both come to their end', async () => {
  const { start, back, person } = await createStage();
  const first = await start();
  const second = await start({ secret: 'OTHER' }, person, `${person.cookie}; service_oauth=${first.nonce}`);
  expect(second.nonce).toBe(first.nonce);
  for (const { state, code } of [second, first]) expectPage(await back({ state, code }, first.nonce), 200);
});

test('security 26: the cookie is Lax, for scripts out of reach, and goes to the OAuth routes alone', async () => {
  const { person } = await createStage();
  const response = await person.call('POST', '/api/oauth/start', { client: 'shop', secret: 'SHOP' });
  const cookie = response.headers.getSetCookie().find((one) => one.startsWith('service_oauth='));
  expect(cookie).toMatch(/Path=\/api\/oauth; HttpOnly; SameSite=Lax$/);
  expect(cookie).toContain('Max-Age=600');
});

test('security 26: another site can begin no connection in a person’s name', async () => {
  const { person } = await createStage();
  const body = { client: 'shop', secret: 'SHOP' };
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
    expect((await person.call('POST', '/api/oauth/start', body, headers)).status).toBe(403);
});

test('security 26: the callback without a signed-in person changes nothing, and no key stands in for one', async () => {
  const { app, start, back, provider } = await createStage();
  const { state, code, nonce } = await start();
  const path = `/api/oauth/callback?state=${state}&code=${code}`;
  const headers = { cookie: `service_oauth=${nonce}` };
  expect((await app.request(path, { as: null, headers })).status).toBe(401);
  expect((await app.request(path, { headers })).status).toBe(403);
  const page = await app.request(path, { as: null, headers: { ...headers, accept: 'text/html' } });
  expect([page.status, page.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/sign-in\?next=/)]);
  expect(provider.asked).toEqual([]);
  expectPage(await back({ state, code }, nonce), 200);
});

const XSS = '<script>alert(1)</script>"\u0000\n\u202e';
test.each([
  ['access_denied', 'Access was not granted'],
  ['invalid_scope', 'does not know one of the scopes'],
  ['server_error', 'Try again later'],
  ['<img src=x onerror=alert(1)>', 'The provider refused.'],
  ['constructor', 'The provider refused.'],
])('what the provider refuses is a sentence, escaped: %s', async (error, sentence) => {
  const { start, back, provider, read } = await createStage();
  const { state, nonce } = await start();
  const response = await back({ state, error, error_description: XSS }, nonce);
  expectPage(response, 422);
  const text = await response.text();
  expect(text).toContain(sentence);
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(text).not.toMatch(/<script|<img|\u202e/);
  expect(provider.asked).toEqual([]);
  expect(await read()).toBeNull();
  expectPage(await back({ state, error }, nonce), 409);
});

test.each([
  [{ status: 400, body: { error: 'invalid_grant', error_description: XSS } }, 'invalid_grant'],
  [{ status: 401, body: { error: 'invalid_client' } }, 'invalid_client'],
  [{ status: 503, body: {} }, 'answers 503'],
  [{ status: 200, body: { access_token: 'access-x', token_type: 'bearer', expires_in: 3_600 } }, 'no refresh token'],
  [{ status: 200, body: {} }, 'no token'],
])('a code that becomes no connection is told, and nothing is stored: %j', async (reply, words) => {
  const { start, back, provider, read } = await createStage();
  const { state, code, nonce } = await start();
  provider.answer(() => reply, 'always');
  const response = await back({ state, code }, nonce);
  expectPage(response, 422);
  const text = await response.text();
  expect(text).toContain(words);
  expect(text).not.toMatch(/<script|access-x/);
  expect(await read()).toBeNull();
});

test('a code of another connection does not fit: its verifier is another', async () => {
  const { start, back, read } = await createStage();
  const mine = await start();
  const theirs = await start();
  const response = await back({ state: mine.state, code: theirs.code }, mine.nonce);
  expectPage(response, 422);
  expect(await read()).toBeNull();
});

test('an answer in the name of another issuer is refused before the code is given away', async () => {
  const { start, back, provider } = await createStage({}, { issuer: 'https://id.example' });
  const wrong = await start();
  expectPage(await back({ state: wrong.state, code: wrong.code, iss: 'https://evil.example' }, wrong.nonce), 422);
  expect(provider.asked).toEqual([]);
  const right = await start();
  expectPage(await back({ state: right.state, code: right.code, iss: 'https://id.example' }, right.nonce), 200);
});

test('a token that does not end is kept as a value', async () => {
  const { start, back, provider, read } = await createStage();
  const { state, code, nonce } = await start();
  provider.answer(() => ({ status: 200, body: { access_token: 'xoxb-for-ever', token_type: 'bot', ok: true } }));
  expectPage(await back({ state, code }, nonce), 200);
  expect(await read()).toMatchObject({ shape: 'value', value: 'xoxb-for-ever' });
});

test('what changed meanwhile is told: the client, the workspace, the person’s role', async () => {
  const { app, start, back, read } = await createStage();
  await insertWorkspace(app.deps, app.tenant, 'gone');
  const inWorkspace = await start({ workspace: 'gone' });
  await app.deps.db.query("DELETE FROM workspace WHERE tenant_id = $1 AND name = 'gone'", [app.tenant]);
  const response = await back({ state: inWorkspace.state, code: inWorkspace.code }, inWorkspace.nonce);
  expectPage(response, 409);
  expect(await response.text()).toContain('workspace was deleted');

  const demoted = await start();
  await app.deps.db.query("UPDATE member SET role = 'editor' WHERE tenant_id = $1", [app.tenant]);
  expect((await back({ state: demoted.state, code: demoted.code }, demoted.nonce)).status).toBe(403);
  await app.deps.db.query("UPDATE member SET role = 'admin' WHERE tenant_id = $1", [app.tenant]);

  const orphan = await start();
  await app.delete('/api/oauth/clients?name=shop');
  expect((await back({ state: orphan.state, code: orphan.code }, orphan.nonce)).status).toBe(403);
  expect(await read()).toBeNull();
});

test.each([
  [{ client: 'none' }, 404],
  [{ workspace: 'none' }, 404],
  [{ secret: 'no-placeholder' }, 422],
  [{ secret: 'PATH' }, 422],
  [{ secret: '' }, 422],
])('a start that leads nowhere is refused: %j', async (more, status) => {
  const { person } = await createStage();
  const response = await person.call('POST', '/api/oauth/start', { client: 'shop', secret: 'SHOP', ...more });
  expect([response.status, response.headers.get('set-cookie')?.includes('service_oauth') ?? false]).toEqual([
    status,
    false,
  ]);
});

test('a client is named by its name or by its client id', async () => {
  const { person } = await createStage();
  const response = await person.call('POST', '/api/oauth/start', { client: CLIENT.id, secret: 'SHOP' });
  expect(response.status).toBe(200);
});

test('security 18: neither the state, the nonce nor the verifier is in the database in clear', async () => {
  const { app, start } = await createStage();
  const { state, nonce } = await start();
  const [row] = await app.deps.db.query<object>('SELECT * FROM oauth_state WHERE tenant_id = $1', [app.tenant]);
  const text = Object.values(row ?? {}).map((value) =>
    Buffer.isBuffer(value) ? value.toString('latin1') : String(value),
  );
  expect(text.length).toBeGreaterThan(10);
  expect(text.join(' ')).not.toContain(state);
  expect(text.join(' ')).not.toContain(nonce);
});
