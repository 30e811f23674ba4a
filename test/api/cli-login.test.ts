import { expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { createPerson, type SignedIn, signIn } from '../support/sessions.js';

interface Started {
  readonly id: string;
  readonly code: string;
  readonly verifyUrl: string;
  readonly expiresAt: string;
  readonly interval: number;
}
const json = async (response: Response) =>
  [response.status, (await response.json()) as Record<string, unknown>] as const;
const start = async (app: TestApp, hostname = 'ada-laptop') =>
  (await (await app.post('/api/cli/login', { hostname }, { as: null })).json()) as Started;
const poll = (app: TestApp, { id }: Started) => app.get(`/api/cli/login/${id}`, { as: null });
const decide = ({ call }: SignedIn, { code }: Started, decision = 'approve') =>
  call('POST', '/api/cli/authorize', { code, decision });
const pass = (app: TestApp, { code }: Started, interval: string) =>
  app.deps.db.query('UPDATE cli_login SET expires_at = expires_at - $2::interval WHERE code = $1', [code, interval]);

test('a terminal is signed in by a person who compares a code, and gets an ordinary key at their role, once', async () => {
  const app = await createTestApp({ config: { publicUrl: 'https://box.example.com' } });
  const person = await createPerson(app, 'editor');
  const session = await signIn(app, person);
  const before = Date.now();
  const started = await start(app);
  const after = Date.now();
  expect(started).toEqual({
    id: expect.stringMatching(/^\w{32}$/),
    code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
    verifyUrl: `https://box.example.com/api/cli/authorize?code=${started.code}`,
    expiresAt: expect.any(String),
    interval: 5,
  });
  const tenMinutesEarlier = Date.parse(started.expiresAt) - 600_000;
  expect(tenMinutesEarlier).toBeGreaterThanOrEqual(before - 1_000);
  expect(tenMinutesEarlier).toBeLessThanOrEqual(after + 1_000);
  expect(await json(await poll(app, started))).toEqual([200, { status: 'pending' }]);
  const typed = started.code.toLowerCase().replace('-', '');
  expect(await json(await session.call('GET', `/api/cli/authorize?code=${typed}`))).toEqual([
    200,
    {
      code: started.code,
      hostname: 'ada-laptop',
      address: null,
      status: 'pending',
      createdAt: expect.any(String),
      expiresAt: started.expiresAt,
      account: app.tenant,
      role: 'editor',
    },
  ]);
  expect(await json(await decide(session, started))).toEqual([200, { ok: true, status: 'approved' }]);
  const answer = await poll(app, started);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const [, approved] = await json(answer);
  expect(approved).toEqual({
    status: 'approved',
    token: expect.stringMatching(/^sbx_/),
    account: app.tenant,
    email: person.email,
    role: 'editor',
  });
  expect(await json(await app.get('/api/me', { as: String(approved.token) }))).toMatchObject([
    200,
    { role: 'editor', actor: { kind: 'key', label: 'CLI on ada-laptop', mintedBy: person.email } },
  ]);
  expect((await poll(app, started)).status).toBe(404);
});

test('an owner’s terminal gets an admin’s key, a viewer’s a viewer’s', async () => {
  const app = await createTestApp();
  for (const [role, expected] of [
    ['owner', 'admin'],
    ['viewer', 'viewer'],
  ] as const) {
    const session = await signIn(app, await createPerson(app, role));
    const started = await start(app);
    await decide(session, started);
    const [, { token }] = await json(await poll(app, started));
    expect(await json(await app.get('/api/me', { as: String(token) }))).toMatchObject([200, { role: expected }]);
  }
});

test('security 28: of twenty polls at once one gets the key', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  await decide(session, started);
  const answers = await Promise.all(Array.from({ length: 20 }, () => poll(app, started)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
});

test('security 28: of twenty decisions at once one counts, and the others hear of it', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => decide(session, started, n % 2 === 0 ? 'approve' : 'deny')),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  expect(await json(await decide(session, started))).toEqual([
    409,
    { error: expect.stringMatching(/^you have (approved|denied) this sign-in/), code: 'already-decided' },
  ]);
});

test('security 28: a sign-in is of the person who decided it: another cannot see or change it', async () => {
  const app = await createTestApp();
  const [mine, theirs] = [
    await signIn(app, await createPerson(app)),
    await signIn(app, await createPerson(app, 'admin')),
  ];
  const started = await start(app);
  await decide(mine, started, 'deny');
  expect((await theirs.call('GET', `/api/cli/authorize?code=${started.code}`)).status).toBe(404);
  expect((await decide(theirs, started)).status).toBe(404);
  expect(await json(await poll(app, started))).toEqual([200, { status: 'denied' }]);
});

test('after ten minutes it has expired, for the terminal and for the person', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  await pass(app, started, '10 minutes');
  expect(await json(await poll(app, started))).toEqual([200, { status: 'expired' }]);
  expect((await decide(session, started)).status).toBe(404);
  expect(await json(await poll(app, started))).toEqual([200, { status: 'expired' }]);
});

test('an approval in the last second still reaches the terminal’s next poll', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  await pass(app, started, '595 seconds');
  await decide(session, started);
  await pass(app, started, '10 seconds');
  expect(await json(await poll(app, started))).toMatchObject([200, { status: 'approved' }]);
});

test('the approval of a member who was removed meanwhile makes no key', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const started = await start(app);
  await decide(await signIn(app, person), started);
  await app.deps.db.query('DELETE FROM member WHERE id = $1', [person.id]);
  expect(await json(await poll(app, started))).toEqual([200, { status: 'denied' }]);
});

test('who polls faster than told is slowed down, and a decision still comes through', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  expect((await poll(app, started)).status).toBe(200);
  const hasty = await poll(app, started);
  expect([hasty.status, hasty.headers.get('retry-after'), await hasty.json()]).toEqual([
    429,
    '5',
    { error: 'nothing is decided yet: ask every 5 seconds', code: 'slow-down', retryAfter: 5 },
  ]);
  await app.deps.db.query(`UPDATE cli_login SET polled_at = polled_at - interval '5 seconds' WHERE code = $1`, [
    started.code,
  ]);
  expect((await poll(app, started)).status).toBe(200);
  await decide(session, started);
  expect(await json(await poll(app, started))).toMatchObject([200, { status: 'approved' }]);
});

test('only a signed-in person decides, and from our own pages: a key names an account', async () => {
  const app = await createTestApp();
  const started = await start(app);
  const body = { code: started.code, decision: 'approve' };
  expect((await app.post('/api/cli/authorize', body, { as: null })).status).toBe(401);
  expect(await json(await app.post('/api/cli/authorize', body))).toMatchObject([403, { need: 'person' }]);
  expect((await app.get(`/api/cli/authorize?code=${started.code}`)).status).toBe(403);
  const { cookie } = await signIn(app, await createPerson(app));
  const foreign = { as: null, headers: { cookie, origin: 'https://evil.example' } };
  expect((await app.post('/api/cli/authorize', body, foreign)).status).toBe(403);
  expect(await json(await poll(app, started))).toEqual([200, { status: 'pending' }]);
});

test('reading a request, however often, decides nothing', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  for (const method of ['GET', 'HEAD', 'GET'])
    await session.call(method, `/api/cli/authorize?code=${started.code}`, undefined, { accept: 'text/html' });
  expect(await json(await poll(app, started))).toEqual([200, { status: 'pending' }]);
});

test('who guesses at codes is stopped', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  const guess = async () => (await call('GET', '/api/cli/authorize?code=BBBB-BBBB')).status;
  for (let n = 0; n < 20; n += 1) expect(await guess()).toBe(404);
  expect(await guess()).toBe(429);
});

test('security 28: who has guessed too often learns of no code that is there', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  const started = await start(app);
  const look = async (code: string) => (await call('GET', `/api/cli/authorize?code=${code}`)).status;
  for (let n = 0; n < 25; n += 1) expect(await look(started.code)).toBe(200);
  for (let n = 0; n < 20; n += 1) expect(await look('BBBB-BBBB')).toBe(404);
  expect(await look(started.code)).toBe(429);
  expect((await call('POST', '/api/cli/authorize', { code: started.code, decision: 'deny' })).status).toBe(429);
  expect(await json(await poll(app, started))).toEqual([200, { status: 'pending' }]);
});

test('security 26: a HEAD takes no key away from the terminal that asks for it', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  await decide(session, started);
  const head = await app.request(`/api/cli/login/${started.id}`, { as: null, method: 'HEAD' });
  expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET']);
  expect(await json(await poll(app, started))).toMatchObject([200, { status: 'approved' }]);
});

test('the audit tells of a terminal’s key as of every key, and from where it was fetched', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app);
  const session = await signIn(app, person);
  const started = await start(app);
  await decide(session, started);
  await app.get(`/api/cli/login/${started.id}`, { as: null, headers: { 'x-forwarded-for': '192.0.2.44' } });
  const [, { entries }] = await json(await app.get('/api/audit?action=key.mint'));
  expect(entries).toMatchObject([
    { actor: { label: person.email }, detail: { label: 'CLI on ada-laptop' }, address: '192.0.2.44' },
  ]);
});

test('the database holds neither the terminal’s secret nor its key', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const started = await start(app);
  await decide(session, started);
  const rows = await app.deps.db.query('SELECT * FROM cli_login WHERE code = $1', [started.code]);
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(started.id);
  expect(
    await app.deps.db.query(`SELECT 1 FROM api_key WHERE tenant_id = $1 AND label LIKE 'CLI %'`, [app.tenant]),
  ).toEqual([]);
});

test.each(['', ' ', 'x'.repeat(254), 'a\u0000b', 'evil\u202Egnp', 'two\nlines'])(
  'a terminal that calls itself %j is refused',
  async (hostname) => {
    const app = await createTestApp();
    expect((await app.post('/api/cli/login', { hostname }, { as: null })).status).toBe(422);
  },
);

test.each(['x', 'a'.repeat(32), '%00', 'a'.repeat(200)])('a poll for %s is 404', async (id) => {
  const app = await createTestApp();
  expect((await app.get(`/api/cli/login/${id}`, { as: null })).status).toBe(404);
});
