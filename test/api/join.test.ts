import { expect, test } from 'vitest';
import { createNet } from '../../src/platform/net/index.js';
import { putSecret } from '../../src/secrets/index.js';
import type { Caller } from '../../src/shared/roles.js';
import { createTestApp, type TestAppOptions } from '../support/create-test-app.js';
import { startLocalServer } from '../support/local-server.js';
import { createPerson, signIn, someAddress } from '../support/sessions.js';

interface Invited {
  readonly link: string;
  readonly sent: boolean;
  readonly reason?: string;
}

const HTML = { accept: 'text/html,application/xhtml+xml', 'x-forwarded-for': someAddress() };

async function team(options: TestAppOptions = {}) {
  const app = await createTestApp({ ...options, config: { trustProxy: true, ...options.config } });
  const owner = await signIn(app, await createPerson(app, 'owner'), { headers: { 'x-forwarded-for': someAddress() } });
  const invite = async (body: object) => {
    const response = await owner.call('POST', '/api/team', body);
    expect(response.status).toBe(201);
    return (await response.json()) as Invited;
  };
  const open = (link: string) => {
    const { pathname, search } = new URL(link);
    return app.request(pathname + search, { as: null, headers: HTML });
  };
  const join = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    app.request('/join', {
      as: null,
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { ...HTML, 'sec-fetch-site': 'same-origin', ...headers },
    });
  return { app, owner, invite, open, join, tokenOf: (link: string) => new URL(link).searchParams.get('token') ?? '' };
}

const PASSWORD = 'a password of some length';

test('whoever was invited opens the link, chooses a password, and is a member with the role and workspaces of the invite', async () => {
  const { app, owner, invite, open, join, tokenOf } = await team();
  await app.deps.db.query(`INSERT INTO workspace (id, tenant_id, name) VALUES ($1, $1, 'shop')`, [app.tenant]);
  const { link } = await invite({ email: 'Ada@x.test', role: 'viewer', workspaces: ['shop'], send: false });
  const page = await open(link);
  const text = await page.text();
  expect([page.status, page.headers.get('cache-control'), page.headers.get('referrer-policy')]).toEqual([
    200,
    'no-store',
    'same-origin',
  ]);
  expect(text).toContain('ada@x.test');
  const joined = await join({ token: tokenOf(link), password: PASSWORD });
  expect([joined.status, joined.headers.get('location')]).toEqual([303, '/']);
  const cookie = joined.headers.get('set-cookie')?.split(';')[0] ?? '';
  const me = await app.get('/api/me', { as: null, headers: { cookie } });
  expect(await me.json()).toMatchObject({ role: 'viewer', workspaces: ['shop'], actor: { email: 'ada@x.test' } });
  expect(await (await owner.call('GET', '/api/team')).json()).toMatchObject({
    members: [{ role: 'owner' }, expect.anything(), { email: 'ada@x.test', role: 'viewer', workspaces: ['shop'] }],
    invites: [],
  });
});

test('security 28: the link opens often and decides nothing; the invite is taken once', async () => {
  const { app, invite, open, join, tokenOf } = await team();
  const { link } = await invite({ email: `b@${app.tenant}.test`, send: false });
  for (let n = 0; n < 20; n += 1) expect((await open(link)).status).toBe(200);
  const fields = { token: tokenOf(link), password: PASSWORD };
  const statuses = await Promise.all([1, 2, 3].map(async () => (await join(fields)).status));
  expect(statuses.filter((status) => status === 303)).toHaveLength(1);
  expect(statuses.filter((status) => [403, 404].includes(status))).toHaveLength(2);
  expect((await open(link)).status).toBe(404);
});

test('a page of another origin cannot join anybody, and a short password leaves the invite open', async () => {
  const { app, invite, open, join, tokenOf } = await team();
  const { link } = await invite({ email: `c@${app.tenant}.test`, send: false });
  const token = tokenOf(link);
  expect((await join({ token, password: PASSWORD }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await join({ token, password: 'short' })).status).toBe(422);
  expect((await open(link)).status).toBe(200);
});

test('a key invites nobody: an act against a named member needs a signed-in person', async () => {
  const { app } = await team();
  const answer = await app.post('/api/team', { email: 'x@x.test' });
  expect([answer.status, await answer.json()]).toMatchObject([403, { need: 'person' }]);
});

test('an unknown key of an invite, a bad address and an owner’s role are refused', async () => {
  const { owner } = await team();
  for (const body of [
    { email: 'nobody' },
    { email: 'a@x.test', role: 'owner' },
    { email: 'a@x.test', rolle: 'viewer' },
  ])
    expect((await owner.call('POST', '/api/team', body)).status).toBe(422);
});

test('where nobody can sign up, nobody is invited', async () => {
  const { owner } = await team({ config: { signup: 'closed' } });
  const answer = await owner.call('POST', '/api/team', { email: 'a@x.test' });
  expect([answer.status, await answer.json()]).toMatchObject([409, { code: 'signup-closed' }]);
});

/** An account whose mails go to a server of the test's. */
async function mailing(status = 200, from: string | null = 'Signalbox <box@x.test>') {
  const provider = await startLocalServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"id":"1"}');
  });
  const email = { apiUrl: `${provider.url}/emails`, from, smtpUrl: null };
  const allowHosts = [{ host: '127.0.0.1', port: null }];
  const stage = await team({
    config: { email, allowHosts },
    deps: { net: createNet({ config: { allowHosts, version: '0' } }) },
  });
  const { app } = stage;
  const caller: Caller = {
    tenant: app.tenant,
    role: 'owner',
    workspaces: null,
    actor: { kind: 'system', id: 'test', label: 'test' },
    person: null,
    signedIn: false,
    address: null,
  };
  const key = (value: string) => putSecret(app.deps, caller, { name: 'EMAIL_API_KEY', value });
  return { ...stage, provider, key };
}

test('an invite is mailed to its address under the account’s own key', async () => {
  const { app, invite, provider, key } = await mailing();
  await key('re_canary_key');
  const made = await invite({ email: 'd@x.test', role: 'admin' });
  expect(made).toMatchObject({ sent: true, link: expect.stringContaining('/join?token=') });
  expect(provider.requests).toHaveLength(1);
  const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '{}' }] = provider.requests;
  expect([method, path, headers.authorization]).toEqual(['POST', '/emails', 'Bearer re_canary_key']);
  const mail = JSON.parse(body) as Record<string, unknown>;
  expect(mail).toMatchObject({
    from: 'Signalbox <box@x.test>',
    to: ['d@x.test'],
    text: expect.stringContaining(made.link),
    headers: { 'Auto-Submitted': 'auto-generated' },
  });
  expect(mail.html).toContain('Accept the invite');
  expect(mail.subject).toBe(`owner@${app.tenant}.test invites you to ${app.tenant} on Signalbox`);
});

test('the link is returned either way, with the reason why no mail was sent, and never the key', async () => {
  const { invite, provider, key } = await mailing(401);
  expect(await invite({ email: 'e@x.test', send: false })).toMatchObject({
    sent: false,
    reason: expect.stringMatching(/not asked/),
  });
  expect(await invite({ email: 'e@x.test' })).toMatchObject({
    sent: false,
    reason: 'the account has no mail key: store it as the secret EMAIL_API_KEY',
  });
  expect(provider.requests).toHaveLength(0);
  await key('re_canary_key');
  const refused = await invite({ email: 'e@x.test' });
  expect(refused).toMatchObject({
    sent: false,
    reason: 'the mail provider answered 401: check the secret EMAIL_API_KEY',
  });
  expect(JSON.stringify(refused)).not.toContain('re_canary_key');
  const silent = await mailing(200, null);
  expect(await silent.invite({ email: 'f@x.test' })).toMatchObject({
    sent: false,
    reason: expect.stringMatching(/SERVICE_EMAIL_FROM/),
  });
});

test('an account’s name can neither add to a mail’s headers nor put markup into it', async () => {
  const { app, invite, provider, key } = await mailing();
  await key('re_some_key');
  await app.deps.db.query('UPDATE tenant SET name = $2 WHERE id = $1', [app.tenant, 'A\r\nBcc: eve@x.test <b>&']);
  await invite({ email: 'g@x.test' });
  const mail = JSON.parse(provider.requests[0]?.body ?? '{}') as Record<string, string>;
  expect(mail.subject).not.toMatch(/[\r\n]/);
  expect(mail.html).toContain('A Bcc: eve@x.test &lt;b&gt;&amp;');
});
