import { createHmac, randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../src/api/log.js';
import { routes } from '../../src/api/routes/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { deriveToken } from '../../src/shared/tokens.js';
import { createKey } from '../support/create-test-app.js';
import { hooked, hookOf, type Sent, send, startHook } from '../support/hooks.js';
import { AGENT, bodyOf, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

const SECRET = "It's a Secret to Everybody";
const lines: string[] = [];
let app: WorkspaceApp;

beforeAll(async () => {
  const workflows = new Proxy({} as Workflows, { get: () => () => Promise.reject(new Error('Temporal is away')) });
  const log = createLog('debug', { write: (line: string) => void lines.push(line) });
  app = await createWorkspaceApp({ routes, deps: { workflows, log } });
  expect((await app.put('/api/secrets', { name: 'SIGNING', value: SECRET })).status).toBe(200);
});
beforeEach(() => {
  lines.length = 0;
});

const started = (frontmatter: string) => startHook(app, frontmatter);
const HOOK = 'trigger: webhook';
const signed = (kind: string) => `trigger: webhook\nsignature: ${kind}\nsigning_secret: SIGNING`;
const URLENCODED = 'application/x-www-form-urlencoded';
const FORM = { 'content-type': URLENCODED };
const hex = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex');

test('a delivery starts the flow, is answered before any work, and its body is the input', async () => {
  const hook = await started(HOOK);
  const [status, answer] = await send(
    app,
    `${hook.hookUrl}&ref=main`,
    { action: 'opened' },
    {
      headers: { 'x-acme-event': 'issue', authorization: 'Bearer theirs', 'x-acme-token': 'theirs' },
    },
  );
  const [run, ...more] = await hook.runs();
  expect([status, answer, more]).toEqual([202, { ok: true, runId: run?.id }, []]);
  expect(run?.input).toEqual({ action: 'opened' });
  expect(run?.trigger).toMatchObject({ kind: 'webhook', query: { ref: 'main' } });
  expect(run?.trigger.headers).toEqual({ content_type: 'application/json', x_acme_event: 'issue' });
  expect(run?.startedBy).toEqual({ kind: 'event', id: 'webhook', label: 'webhook', person: null });
});

const part = (name: string, text: string) =>
  `--x\r\ncontent-disposition: form-data; name=${name.replace(/^\w+/, '"$&"')}\r\n\r\n${text}\r\n`;
const PARTS = `${part('a', '1')}${part('b', '2')}${part('b', '3')}${part('c; filename=""', '')}--x--\r\n`;

test.each<[string, string, string | Uint8Array, unknown]>([
  ['a form', 'application/x-www-form-urlencoded', 'a=1&b=2&b=3', { a: '1', b: ['2', '3'] }],
  ['a form that holds JSON', 'application/x-www-form-urlencoded', `payload=${encodeURIComponent('{"a":1}')}`, { a: 1 }],
  ['JSON that says it is a form', 'application/x-www-form-urlencoded', '{"a":1}', { a: 1 }],
  ['text', 'text/plain', 'Hello', 'Hello'],
  ['JSON that says it is text', 'text/plain', '{"a":1}', { a: 1 }],
  ['nothing', 'application/json', '', null],
  ['a vendor’s JSON', 'application/vnd.acme+json; charset=utf-8', '[1]', [1]],
  ['what no row can hold', 'application/json', '{"a":"\\u0000\\ud83d\\ude00\\ud83d"}', { a: '\uFFFD😀\uFFFD' }],
  ['a form in parts', 'multipart/form-data; boundary=x', PARTS, { a: '1', b: ['2', '3'] }],
  [
    'a form in another charset',
    `${URLENCODED}; charset=ISO-8859-1`,
    'n%E4me=caf%e9+%26+%C3&b=%zz%&&c',
    { näme: 'café & Ã', b: '%zz%', c: '' },
  ],
  [
    'a form in another charset, not escaped',
    `${URLENCODED};charset="windows-1250"`,
    Buffer.from('a=\xbf\xf3', 'latin1'),
    { a: 'żó' },
  ],
  ['a form in UTF-8 that names another', `${URLENCODED}; charset=iso-8859-1`, 'a=caf%C3%A9', { a: 'café' }],
  ['a form in a charset that nobody knows', `${URLENCODED}; charset=none`, 'a=caf%C3%A9', { a: 'café' }],
  ['text in another charset', 'text/plain; charset=iso-8859-2', Buffer.from('\xbf\xf3\xb3\xe6', 'latin1'), 'żółć'],
  ['JSON in another charset', 'application/json; charset=latin1', Buffer.from('{"a":"\xe9"}', 'latin1'), { a: 'é' }],
  [
    'text in a charset of escapes',
    'text/plain; charset=iso-2022-jp',
    Buffer.from('1b2442467c4b5c1b2842', 'hex'),
    '日本',
  ],
  ['a form in a charset of escapes', `${URLENCODED}; charset=iso-2022-jp`, 'a=%1b%24BF%7CK%5C%1b(B', { a: '日本' }],
  ['JSON of two bytes a sign', 'application/json; charset=utf-16le', Buffer.from('{"a":1}', 'utf16le'), { a: 1 }],
  ['a hostile key', 'application/x-www-form-urlencoded', '__proto__=1', JSON.parse('{"__proto__":"1"}')],
])('a body may be %s', async (_name, type, body, input) => {
  const hook = await started(HOOK);
  expect((await hook.send(body, { type }))[0]).toBe(202);
  expect((await hook.runs()).map((run) => run.input)).toEqual([input]);
});

test.each<[string, string | Uint8Array, string, number]>([
  ['no JSON', '{', 'application/json', 400],
  ['no text', new Uint8Array([0xff, 0xfe]), 'text/plain', 400],
  ['no form', 'a=1', 'multipart/form-data; boundary=x', 400],
  ['a form with a file', `${part('a; filename="a.txt"', '1')}--x--\r\n`, 'multipart/form-data; boundary=x', 415],
  ['parts of another kind', '--x\r\n\r\n--x--', 'multipart/mixed; boundary=x', 415],
  ['nested too deep', '['.repeat(100) + ']'.repeat(100), 'application/json', 422],
  ['over the limit', `"${'x'.repeat(1024 * 1024)}"`, 'application/json', 413],
])('a body of %s is refused and starts nothing', async (_name, body, type, status) => {
  const hook = await started(HOOK);
  expect((await hook.send(body, { type }))[0]).toBe(status);
  expect(await hook.runs()).toEqual([]);
});

test('security 10: a wrong token, an unknown flow, workspace and account are one and the same 401', async () => {
  const hook = await started(HOOK);
  const [path = '', token = ''] = hook.hookUrl.split('?token=');
  const places = [
    `${path}?token=${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    `${path}?token=`,
    path,
    `${path.replace('/hooked', '/other')}?token=${token}`,
    `${path.replace(hook.name, 'other')}?token=${token}`,
    `${path.replace(app.tenant, 'other')}?token=${token}`,
    `${path.replace('/hooked', '/h%00oked')}?token=${token}`,
    // What a place that is not there has for its fields.
    `/api/hooks/other/other/hooked?token=${deriveToken(app.deps.keys.signing, 'hook', ['', 'hooked', '0'])}`,
    `${path}?token=${deriveToken(randomBytes(32), 'hook', ['', 'hooked', '0'])}`,
    `${path}?token=${'x'.repeat(43)}`,
    `${path}?token=${'x'.repeat(300)}`,
    `${path}?token=a&token=b`,
    `${path.replace('/hooked', `/${'h'.repeat(300)}`)}?token=${token}`,
  ];
  const bodies = ['{broken', 'x'.repeat(2 * 1024 * 1024)];
  for (const place of places.flatMap((one) => [one, one.replace('/api/hooks/', '/api/inbox/')])) {
    const answers = await Promise.all(bodies.map((body) => send(app, place, body)));
    for (const answer of answers)
      expect(answer).toEqual([401, { error: 'the token is not valid here', code: 'unauthenticated' }]);
  }
  expect(await hook.runs()).toEqual([]);
});

test('security 10: GET, HEAD and OPTIONS of a hook do nothing', async () => {
  const hook = await started(HOOK);
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
    expect((await app.request(hook.hookUrl, { as: null, method })).status).toBe(405);
  expect(await hook.runs()).toEqual([]);
});

test('security 11: a rotated token opens nothing, its successor does, and each flow has its own', async () => {
  const hook = await started(HOOK);
  const next = await hookOf(app, hook.name);
  expect((await hook.send({}))[0]).toBe(401);
  expect((await send(app, next.hookUrl, {}))[0]).toBe(202);
  expect(next.inboxUrl).toBe(next.hookUrl.replace('/api/hooks/', '/api/inbox/'));
  const files = { 'agents/writer.md': AGENT, 'flows/hooked.md': hooked(HOOK), 'flows/two.md': hooked(HOOK, 'two') };
  await app.deploy(hook.name, files, { force: true });
  expect((await send(app, next.hookUrl.replace('/hooked?', '/two?'), {}))[0]).toBe(401);
});

test('editors see a flow’s addresses, of the triggers that it has, and viewers do not', async () => {
  const hook = await started(HOOK);
  const flow = async (role: 'editor' | 'viewer') => {
    const as = await createKey(app.deps, { ...app, role });
    return bodyOf(app.get(`/api/workspaces/${hook.name}/flows/hooked`, { as }));
  };
  const seen = await flow('editor');
  expect([seen.hookUrl, seen.inboxUrl]).toEqual([`http://127.0.0.1:4747${hook.hookUrl}`, undefined]);
  expect(JSON.stringify(await flow('viewer'))).not.toContain('token=');
});

test('security 11: no log line and no other answer has a token or a secret', async () => {
  const hook = await started(signed('hmac'));
  const token = new URL(hook.hookUrl, 'http://x').searchParams.get('token') ?? 'none';
  const seen = { 'x-original-uri': hook.hookUrl, 'x-forwarded-uri': `${hook.hookUrl}&a=1`, referer: hook.hookUrl };
  await hook.send({}, { headers: { ...seen, 'x-signature': hex('{}') } });
  await hook.send({});
  const [, answer] = await send(app, `${hook.hookUrl.replace('token', 't%6Fken')}`, {});
  expect(answer).toMatchObject({ code: 'invalid-signature' });
  const told = [lines.join(''), JSON.stringify(await hook.deliveries()), JSON.stringify(await hook.runs())].join('\n');
  expect(told).not.toContain(token);
  expect(told).not.toContain(SECRET);
  expect(told).toContain('invalid-signature');
  expect(told).toContain('"x_original_uri":"/api/hooks/');
});

describe('signed flows', () => {
  const now = () => Math.floor(Date.now() / 1000);
  test.each<[string, (body: string) => Record<string, string>]>([
    ['code_host', (body) => ({ 'x-hub-signature-256': `sha256=${hex(body)}` })],
    ['payment', (body) => ({ 'stripe-signature': `t=${now()},v1=${hex(`${now()}.${body}`)}` })],
    [
      'chat',
      (body) => ({ 'x-slack-request-timestamp': `${now()}`, 'x-slack-signature': `v0=${hex(`v0:${now()}:${body}`)}` }),
    ],
    ['hmac\nsignature_header: X-Acme', (body) => ({ 'x-acme': hex(body) })],
  ])('%s: the raw bytes are checked before they are parsed', async (kind, sign) => {
    const hook = await started(signed(kind));
    const body = '{ "a" :  1 }';
    expect((await hook.send(body, { headers: sign(body) }))[0]).toBe(202);
    const refused = [401, { error: 'the signature is not valid', code: 'invalid-signature' }];
    expect(await hook.send('{"a":1}', { headers: sign(body) })).toEqual(refused);
    expect(await hook.send('{', {})).toEqual(refused);
    expect(await hook.runs()).toHaveLength(1);
    expect((await hook.deliveries()).map((one: { outcome: string }) => one.outcome)).toEqual([
      'invalid-signature',
      'invalid-signature',
      'started',
    ]);
    expect(lines.some((line) => line.includes('"msg":"invalid-signature"'))).toBe(true);
  });

  test('a provider’s own id is compared as it was sent, however many digits it has', async () => {
    const hook = await started(signed('payment'));
    const sendId = (id: string) => {
      const body = `{"id":${id}}`;
      return hook.send(body, { headers: { 'stripe-signature': `t=${now()},v1=${hex(`${now()}.${body}`)}` } });
    };
    const ids = ['9007199254740992', '9007199254740993', '9007199254740993'];
    const answers = await Promise.all(ids.slice(0, 2).map(sendId));
    expect([...answers, await sendId(ids[2] ?? '')].map(([status]) => status)).toEqual([202, 202, 202]);
    expect((await hook.runs()).map(({ trigger }) => trigger.deliveryId).sort()).toEqual(ids.slice(0, 2));
  });

  test('a chat provider’s challenge is answered when it is signed, and starts nothing', async () => {
    const hook = await started(signed('chat'));
    const body = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
    const time = String(now());
    const headers = { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${hex(`v0:${time}:${body}`)}` };
    expect(await hook.send(body, { headers })).toEqual([200, { challenge: 'abc' }]);
    expect((await hook.send(body))[0]).toBe(401);
    expect(await hook.runs()).toEqual([]);
  });

  test('a signing secret that is not there lets nobody in, and the admin reads why', async () => {
    const hook = await started('trigger: webhook\nsignature: hmac\nsigning_secret: NOWHERE');
    const unsigned = createHmac('sha256', '').update('{}').digest('hex');
    expect((await hook.send('{}', { headers: { 'x-signature': unsigned } }))[0]).toBe(503);
    expect((await hook.deliveries())[0]).toMatchObject({
      outcome: 'refused',
      detail: 'the signing secret NOWHERE is not in the vault',
    });
  });
});

describe('security 10: the same delivery', () => {
  test('20 times at once is one run and the same answer', async () => {
    const hook = await started(HOOK);
    const headers = { 'x-github-delivery': 'd-1' };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => hook.send({ n }, { headers })));
    const [run, ...more] = await hook.runs();
    expect(more).toEqual([]);
    expect(answers.filter(([, body]) => !(body as { duplicate?: true }).duplicate)).toEqual([
      [202, { ok: true, runId: run?.id }],
    ]);
    for (const [status, body] of answers) expect([status, body]).toMatchObject([202, { ok: true, runId: run?.id }]);
  });

  test.each<[string, string, unknown, Sent['headers'], unknown, Sent['headers'], number]>([
    ['header', 'dedupe: header X-Id', 1, { 'x-id': 'a' }, 2, { 'x-id': 'a' }, 1],
    ['body.path', 'dedupe: body.event.id', { event: { id: 7 } }, {}, { event: { id: 7 }, more: 1 }, {}, 1],
    ['another', 'dedupe: body.event.id', { event: { id: 7 } }, {}, { event: { id: 8 } }, {}, 2],
    ['a key that is not there', 'dedupe: body.event.id', {}, {}, {}, {}, 2],
    [
      'a number of many digits',
      'dedupe: body.id',
      '{"id":9007199254740993}',
      {},
      '{"n":1,"id":9007199254740993}',
      {},
      1,
    ],
    ['a number next to it', 'dedupe: body.id', '{"id":9007199254740992}', {}, '{"id":9007199254740993}', {}, 2],
    ['such a number in a list', 'dedupe: body.a.0.id', '{"a":[{"id":1e400}]}', {}, '{"a":[{"id":2e400}]}', {}, 2],
    [
      'such a number in a form',
      'dedupe: body.id',
      'payload={"id":9007199254740992}',
      FORM,
      'payload={"id":9007199254740993}',
      FORM,
      2,
    ],
    ['equal bodies without an id', 'tags: [x]', { a: 1 }, {}, { a: 1 }, {}, 2],
    ['Standard Webhooks’ id', 'tags: [x]', 1, { 'webhook-id': 'm' }, 2, { 'webhook-id': 'm' }, 1],
  ])('by %s', async (_name, line, body, headers, again, moreHeaders, runs) => {
    const hook = await started(`${HOOK}\n${line}`);
    await hook.send(body, { headers: headers ?? {} });
    await hook.send(again, { headers: moreHeaders ?? {} });
    expect(await hook.runs()).toHaveLength(runs);
  });

  test('is new after a day, and its key is kept no longer', async () => {
    const hook = await started(HOOK);
    const headers = { 'webhook-id': 'm' };
    await hook.send(1, { headers });
    const age = (hours: number) =>
      app.deps.db.query(
        `UPDATE delivery_key SET at = now() - $2 * interval '1 hour' WHERE workspace_id =
          (SELECT id FROM workspace WHERE name = $1)`,
        [hook.name, hours],
      );
    await age(23);
    expect((await hook.send(1, { headers }))[1]).toMatchObject({ duplicate: true });
    await age(25);
    expect((await hook.send(1, { headers }))[1]).not.toHaveProperty('duplicate');
    expect(await hook.runs()).toHaveLength(2);
  });

  test('that was refused leaves no key behind', async () => {
    const hook = await started(`${HOOK}\ninput:\n  a: integer`);
    const headers = { 'webhook-id': 'm' };
    const [status, answer] = await hook.send({ a: 'x' }, { headers });
    expect([status, answer]).toMatchObject([422, { code: 'input', error: expect.stringMatching(/^input: /) }]);
    expect((await hook.send({ a: 1 }, { headers }))[1]).not.toHaveProperty('duplicate');
    expect((await hook.runs()).map((run) => run.input)).toEqual([{ a: 1 }]);
  });
});

test('a filter that is false starts nothing and says so; one that fails is refused', async () => {
  const hook = await started(`${HOOK}\nfilter: 'input.action == "opened" && trigger.headers.x_acme_token == "t"'`);
  const headers = { 'x-acme-token': 't' };
  expect(await hook.send({ action: 'closed' }, { headers })).toEqual([200, { ok: true, filtered: true }]);
  expect(await hook.send({ action: 'opened' }, { headers })).toMatchObject([202, {}]);
  expect(await hook.send({}, { headers })).toMatchObject([422, { code: 'filter' }]);
  expect(await hook.runs()).toHaveLength(1);
});

test('a flow that is switched off, and one without the trigger, start nothing and say why', async () => {
  const off = await started(`${HOOK}\nenabled: false`);
  expect(await off.send({})).toMatchObject([409, { error: expect.stringContaining('switched off') }]);
  const other = await started('trigger: email');
  expect(await other.send({})).toMatchObject([409, { error: expect.stringContaining('no trigger: webhook') }]);
  expect((await other.deliveries())[0]).toMatchObject({ outcome: 'refused', runId: null });
});

test('over its concurrency, on_limit: skip is told as such, also to who sends it again', async () => {
  const hook = await started(`${HOOK}\nconcurrency: { limit: 1, on_limit: skip }`);
  expect((await hook.send({}))[0]).toBe(202);
  const headers = { 'webhook-id': 'm' };
  expect(await hook.send({}, { headers })).toEqual([200, { ok: true, skipped: true }]);
  expect(await hook.send({}, { headers })).toEqual([200, { ok: true, skipped: true, duplicate: true }]);
  expect(await hook.runs()).toHaveLength(1);
});
