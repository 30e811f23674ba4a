import { expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { cookieOf, createPerson, logIn, PASSWORD, signIn } from '../support/sessions.js';

const json = async (response: Response) => [response.status, await response.json()] as const;

test('signing in sets a cookie that scripts cannot read, for 30 days, and says who one is', async () => {
  const app = await createTestApp();
  const person = await createPerson(app, 'editor');
  const response = await logIn(app, ` ${person.email.toUpperCase()} `, { headers: { 'user-agent': 'Firefox' } });
  expect(response.headers.get('set-cookie')).toMatch(
    /^service_session=[a-zA-Z0-9]{43}; HttpOnly; Max-Age=2592000; Path=\/; SameSite=Lax$/,
  );
  expect(response.headers.get('cache-control')).toBe('no-store');
  const view = {
    account: app.tenant,
    owner: app.owner.email,
    role: 'editor',
    workspaces: null,
    avatar: null,
    actor: { kind: 'person', id: person.id, email: person.email },
    timezone: null,
    session: { id: expect.any(String), device: 'Firefox', address: null },
  };
  expect(await json(response)).toMatchObject([200, view]);
  const again = await app.get('/api/auth/session', { as: null, headers: { cookie: cookieOf(response) ?? '' } });
  expect(await json(again)).toMatchObject([200, view]);
});

test('the cookie is Secure when the public address is https', async () => {
  const app = await createTestApp({ config: { publicUrl: 'https://box.example.com' } });
  const response = await logIn(app, (await createPerson(app)).email);
  expect(response.headers.get('set-cookie')).toContain('; Secure');
});

test('the database holds no session’s cookie, only its hash', async () => {
  const app = await createTestApp();
  const { cookie } = await signIn(app, await createPerson(app));
  const rows = await app.deps.db.query('SELECT * FROM session');
  expect(rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1]);
});

test('a session does what its person’s role may, and follows it at the next request', async () => {
  const app = await createTestApp();
  const person = await createPerson(app, 'viewer');
  const { call } = await signIn(app, person);
  const me = async () => (await call('GET', '/api/me')).json();
  expect(await me()).toMatchObject({ role: 'viewer' });
  expect((await call('POST', '/api/workspaces', { name: 'x' })).status).toBe(403);
  await app.deps.db.query(
    `UPDATE member SET role = 'admin', all_workspaces = false, workspaces = '{a}' WHERE id = $1`,
    [person.id],
  );
  expect(await me()).toMatchObject({ role: 'admin', workspaces: ['a'] });
  expect(
    await (await (await signIn(app, await createPerson(app, 'owner'))).call('GET', '/api/me')).json(),
  ).toMatchObject({ role: 'owner', workspaces: null });
});

test('security 27: the session of a removed member ends at the next request', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const { call } = await signIn(app, person);
  await app.deps.db.query('DELETE FROM member WHERE id = $1', [person.id]);
  expect(await json(await call('GET', '/api/me'))).toEqual([
    401,
    { error: 'this session has ended: sign in again', code: 'session-ended' },
  ]);
});

test('signing out ends the session and takes the cookie away', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  const out = await call('POST', '/api/auth/logout');
  expect([out.status, out.headers.get('set-cookie')]).toEqual([
    200,
    'service_session=; HttpOnly; Max-Age=0; Path=/; SameSite=Lax',
  ]);
  expect((await call('GET', '/api/auth/session')).status).toBe(401);
});

test('signing in again in the same browser ends the session that was there', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const first = await signIn(app, person);
  const second = await signIn(app, person, { headers: { cookie: first.cookie } });
  expect((await first.call('GET', '/api/me')).status).toBe(401);
  expect((await second.call('GET', '/api/me')).status).toBe(200);
});

const sessionsOf = async ({ call }: Awaited<ReturnType<typeof signIn>>) =>
  ((await (await call('GET', '/api/auth/sessions')).json()) as { sessions: { id: string; current: boolean }[] })
    .sessions;

test('sessions are listed with device, address and last use, and end one by one or all others at once', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app, 'viewer');
  const headers = { 'user-agent': 'curl/8', 'x-forwarded-for': '192.0.2.9' };
  const mine = await signIn(app, person, { headers });
  const others = [await signIn(app, person), await signIn(app, person), await signIn(app, person)];
  const stranger = await signIn(app, await createPerson(app));
  const listed = await sessionsOf(mine);
  expect(listed).toHaveLength(4);
  expect(listed.find(({ current }) => current)).toMatchObject({
    device: 'curl/8',
    address: '192.0.2.9',
    lastUsedAt: expect.stringMatching(/Z$/),
    expiresAt: expect.stringMatching(/Z$/),
  });
  const id = (await sessionsOf(others[0] ?? mine)).find(({ current }) => current)?.id ?? '';
  expect((await stranger.call('DELETE', `/api/auth/sessions?id=${id}`)).status).toBe(404);
  expect(await json(await mine.call('DELETE', '/api/auth/sessions', { id }))).toEqual([200, { ok: true, ended: 1 }]);
  expect((await mine.call('DELETE', `/api/auth/sessions?id=${id}`)).status).toBe(404);
  expect((await others[0]?.call('GET', '/api/me'))?.status).toBe(401);
  expect(await json(await mine.call('DELETE', '/api/auth/sessions?others=true'))).toEqual([
    200,
    { ok: true, ended: 2 },
  ]);
  expect(await sessionsOf(mine)).toHaveLength(1);
  expect((await stranger.call('GET', '/api/me')).status).toBe(200);
  for (const body of [{}, { others: false }, { id, others: true }])
    expect((await mine.call('DELETE', '/api/auth/sessions', body)).status).toBe(422);
});

async function age(app: TestApp, interval: string): Promise<void> {
  await app.deps.db.query(
    `UPDATE session SET last_used_at = last_used_at - $2::interval, expires_at = expires_at - $2::interval
     WHERE member_id IN (SELECT id FROM member WHERE tenant_id = $1)`,
    [app.tenant, interval],
  );
}

test('a session’s 30 days begin anew with its use, and so do its cookie’s; unused it ends', async () => {
  const app = await createTestApp();
  const { call, cookie } = await signIn(app, await createPerson(app));
  const fresh = await call('GET', '/api/me');
  expect(fresh.headers.get('set-cookie')).toBeNull();
  await age(app, '29 days');
  const renewed = await call('GET', '/api/me');
  expect([renewed.status, cookieOf(renewed)]).toEqual([200, cookie]);
  const { session } = (await (await call('GET', '/api/auth/session')).json()) as { session: { expiresAt: string } };
  expect(Date.parse(session.expiresAt) - Date.now()).toBeGreaterThan(29.9 * 86_400_000);
  await age(app, '31 days');
  expect((await call('GET', '/api/me')).status).toBe(401);
});

test('of one person’s sessions the 50 used last are kept', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const first = await signIn(app, person);
  await app.deps.db.query(
    `INSERT INTO session (id, member_id, token_hash, last_used_at, expires_at)
     SELECT 'old-' || $1 || n, $1, 'hash-' || $1 || n, now() - n * interval '1 day', now() + interval '1 day'
     FROM generate_series(1, 60) n`,
    [person.id],
  );
  await signIn(app, person);
  expect(await sessionsOf(first)).toHaveLength(50);
});

test('a password changes for who knows it, and ends the other sessions', async () => {
  const app = await createTestApp();
  const person = await createPerson(app, 'viewer');
  const [mine, other] = [await signIn(app, person), await signIn(app, person)];
  const change = (current: string, next: string) => mine.call('POST', '/api/auth/password', { current, next });
  expect(await json(await change('wrong', 'another long one'))).toEqual([
    403,
    { error: 'current: this is not your password', code: 'bad-credentials' },
  ]);
  expect((await change(PASSWORD, 'short')).status).toBe(422);
  expect((await change(PASSWORD, PASSWORD)).status).toBe(422);
  expect(await json(await change(PASSWORD, 'another long one'))).toEqual([200, { ok: true, ended: 1 }]);
  expect([(await mine.call('GET', '/api/me')).status, (await other.call('GET', '/api/me')).status]).toEqual([200, 401]);
  expect((await logIn(app, person.email)).status).toBe(401);
  expect((await logIn(app, person.email, { password: 'another long one' })).status).toBe(200);
});

test('of two changes of a password at once one is made', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  const change = (next: string) => call('POST', '/api/auth/password', { current: PASSWORD, next });
  const answers = await Promise.all([change('the first new one'), change('the other new one')]);
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses[0]).toBe(200);
  expect([403, 409]).toContain(statuses[1]);
});

test('a time zone is set by its name, and cleared', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app, 'viewer'));
  const set = (timezone: unknown) => call('POST', '/api/auth/timezone', { timezone });
  const now = async () => ((await (await call('GET', '/api/auth/session')).json()) as { timezone: unknown }).timezone;
  expect((await set('Europe/Berlin')).status).toBe(200);
  expect(await now()).toBe('Europe/Berlin');
  for (const wrong of ['Europe/Atlantis', '+02:00', '', 5]) expect((await set(wrong)).status).toBe(422);
  expect(await now()).toBe('Europe/Berlin');
  expect((await set(null)).status).toBe(200);
  expect(await now()).toBeNull();
});

test('what belongs to a person takes a signed-in one: a key names an account', async () => {
  const app = await createTestApp();
  for (const [method, path] of [
    ['GET', '/api/auth/sessions'],
    ['POST', '/api/auth/password'],
    ['POST', '/api/auth/timezone'],
    ['POST', '/api/auth/logout'],
  ] as const)
    expect(await json(await app.request(path, { method }))).toMatchObject([403, { need: 'person' }]);
  expect(await json(await app.get('/api/auth/session'))).toMatchObject([200, { session: null, timezone: null }]);
});

test('who signs in, out and changes a password is in the audit, and no secret with it', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  await call('POST', '/api/auth/password', { current: PASSWORD, next: 'another long one' });
  await call('POST', '/api/auth/logout');
  const rows = await app.deps.db.query<{ action: string }>(
    'SELECT * FROM audit_entry WHERE tenant_id = $1 ORDER BY id',
    [app.tenant],
  );
  expect(rows.map(({ action }) => action)).toEqual(['session.start', 'password.change', 'session.end']);
  const text = JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  for (const secret of [PASSWORD, 'another long one']) expect(text).not.toContain(secret);
});
