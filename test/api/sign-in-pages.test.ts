import { expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { cookieOf, createPerson, PASSWORD, type SignedIn, signIn, someAddress } from '../support/sessions.js';

/** As browsers ask for a page. */
const ACCEPT = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const POLICY =
  /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/;

const visit = (app: TestApp, path: string, headers: Record<string, string> = {}) =>
  app.get(path, { as: null, headers: { ...ACCEPT, ...headers } });
const submit = (app: TestApp, path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  app.request(path, {
    as: null,
    method: 'POST',
    headers: { ...ACCEPT, 'sec-fetch-site': 'same-origin', ...headers },
    body: new URLSearchParams(form),
  });
const start = async (app: TestApp, hostname = 'ada-laptop') =>
  (await (await app.post('/api/cli/login', { hostname }, { as: null })).json()) as { id: string; code: string };
const statusOf = async (app: TestApp, id: string) =>
  (await (await app.get(`/api/cli/login/${id}`, { as: null })).json()) as { status: string };

async function authorizePage(app: TestApp, { cookie }: SignedIn, code: string) {
  const response = await visit(app, `/api/cli/authorize?code=${code}`, { cookie });
  const text = await response.text();
  return { response, text, nonce: /name="nonce" value="([^"]+)"/.exec(text)?.[1] ?? '' };
}

test('a page can run, fetch and be framed by nothing, is kept by nobody and tells no address', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const { code } = await start(app);
  const { response, text } = await authorizePage(app, session, code);
  expect(response.headers.get('content-type')).toContain('text/html');
  expect(response.headers.get('content-security-policy')).toMatch(POLICY);
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-frame-options')).not.toBeNull();
  expect(text).not.toMatch(/<script|javascript:|\son\w+=|style=/i);
});

test('who is not signed in is sent to sign in, and back to where they wanted to go', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const { code } = await start(app);
  const path = `/api/cli/authorize?code=${code}`;
  for (const headers of [{}, { cookie: 'service_session=ended' }]) {
    const sent = await visit(app, path, headers);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/sign-in?next=${encodeURIComponent(path)}`]);
  }
  const form = await visit(app, `/sign-in?next=${encodeURIComponent(path)}`);
  expect([form.status, form.headers.get('content-security-policy')]).toEqual([200, expect.stringMatching(POLICY)]);
  expect(await form.text()).toContain(`name="next" value="${path}"`);
  const wrong = await submit(app, '/sign-in', { email: person.email, password: 'wrong', next: path });
  expect([wrong.status, cookieOf(wrong)]).toEqual([303, undefined]);
  expect(await (await visit(app, wrong.headers.get('location') ?? '')).text()).toContain('password is wrong');
  const right = await submit(app, '/sign-in', { email: person.email, password: PASSWORD, next: path });
  expect([right.status, right.headers.get('location')]).toEqual([303, path]);
  expect((await visit(app, path, { cookie: cookieOf(right) ?? '' })).status).toBe(200);
});

test.each([
  'https://evil.example/',
  '//evil.example/',
  '/\\evil.example/',
  '/\t/evil.example',
  'javascript:alert(1)',
  'evil',
])('signing in leads to no other place: %j', async (next) => {
  const app = await createTestApp();
  const { email } = await createPerson(app);
  const response = await submit(app, '/sign-in', { email, password: PASSWORD, next });
  expect([response.status, response.headers.get('location')]).toEqual([303, '/']);
});

test('too many sign-ins by the page are a page that says when to come again', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const form = { email: 'nobody@nowhere.test', password: 'x' };
  const headers = { 'x-forwarded-for': someAddress() };
  for (let n = 0; n < 10; n += 1)
    expect(
      (await submit(app, '/sign-in', { ...form, email: `${n}-${headers['x-forwarded-for']}@x` }, headers)).status,
    ).toBe(303);
  const limited = await submit(app, '/sign-in', form, headers);
  expect([limited.status, Number(limited.headers.get('retry-after')) > 800]).toEqual([429, true]);
  expect(await limited.text()).toContain('try again in 15 minutes');
});

test('the page shows the code, the machine and the key, whatever the machine calls itself', async () => {
  const app = await createTestApp();
  const person = await createPerson(app, 'viewer');
  const { code } = await start(app, '<script>alert("x")</script>');
  const { text } = await authorizePage(app, await signIn(app, person), code);
  expect(text).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
  for (const shown of [code, person.email, `viewer of ${app.tenant}`]) expect(text).toContain(shown);
});

test('the form approves once, and the page then says so', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const { id, code } = await start(app);
  const { nonce } = await authorizePage(app, session, code);
  const { cookie } = session;
  const form = { code, nonce, decision: 'approve' };
  const approved = await submit(app, '/api/cli/authorize', form, { cookie });
  expect([approved.status, await approved.text()]).toEqual([200, expect.stringContaining('<h1>Approved</h1>')]);
  const again = await submit(app, '/api/cli/authorize', form, { cookie });
  expect([again.status, await again.text()]).toEqual([409, expect.stringContaining('you have approved')]);
  expect((await authorizePage(app, session, code)).text).toContain('<h1>Approved</h1>');
  expect(await statusOf(app, id)).toMatchObject({ status: 'approved' });
});

test('a form without its nonce, or with that of another person, session or code, decides nothing', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const [mine, again] = [await signIn(app, person), await signIn(app, person)];
  const theirs = await signIn(app, await createPerson(app));
  const { id, code } = await start(app);
  const other = await start(app);
  const nonces = [
    undefined,
    '',
    (await authorizePage(app, theirs, code)).nonce,
    (await authorizePage(app, again, code)).nonce,
    (await authorizePage(app, mine, other.code)).nonce,
  ];
  for (const nonce of nonces) {
    const form = { code, decision: 'approve', ...(nonce !== undefined && { nonce }) };
    expect((await submit(app, '/api/cli/authorize', form, { cookie: mine.cookie })).status).toBe(403);
  }
  expect(await statusOf(app, id)).toEqual({ status: 'pending' });
});

test('security 26: where a browser hides the page’s origin the nonce decides, and only a form’s', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const { id, code } = await start(app);
  const { nonce } = await authorizePage(app, session, code);
  const hidden = { cookie: session.cookie, ...ACCEPT, origin: 'null' };
  const send = (body: string | URLSearchParams, headers: Record<string, string>) =>
    app.request('/api/cli/authorize', { as: null, method: 'POST', headers, body });
  const json = JSON.stringify({ code, nonce, decision: 'approve' });
  expect((await send(json, { ...hidden, 'content-type': 'application/json' })).status).toBe(403);
  expect((await send(json, { ...hidden, 'content-type': 'text/plain' })).status).toBe(403);
  const form = (own: string) => new URLSearchParams({ code, nonce: own, decision: 'approve' });
  expect((await send(form('made-up'), hidden)).status).toBe(403);
  expect((await send(form(nonce), { ...hidden, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect(await statusOf(app, id)).toEqual({ status: 'pending' });
  expect((await send(form(nonce), hidden)).status).toBe(200);
});

test('a request that is not there is a page for a person, and JSON for a program', async () => {
  const app = await createTestApp();
  const session = await signIn(app, await createPerson(app));
  const { response, text } = await authorizePage(app, session, 'BBBB-BBBB');
  expect([response.status, response.headers.get('content-security-policy')]).toEqual([
    404,
    expect.stringMatching(POLICY),
  ]);
  expect(text).toContain('it has expired or is decided');
  const asProgram = await session.call('GET', '/api/cli/authorize?code=BBBB-BBBB', undefined, { accept: '*/*' });
  expect([asProgram.status, await asProgram.json()]).toEqual([
    404,
    { error: expect.stringMatching(/^no such sign-in/), code: 'not-found' },
  ]);
});

test.each([
  ['text/html', 'text/html'],
  ['text/html;q=0.5, application/json', 'application/json'],
  ['*/*', 'application/json'],
  ['', 'application/json'],
])('Accept: %s gets %s', async (accept, type) => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  const { code } = await start(app);
  const response = await call('GET', `/api/cli/authorize?code=${code}`, undefined, { accept });
  expect(response.headers.get('content-type')).toContain(type);
});
