import { createHmac, randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../src/api/log.js';
import { routes } from '../../src/api/routes/index.js';
import { deriveToken } from '../../src/shared/tokens.js';
import type { Workflows } from '../../src/temporal/contract.js';
import { sweepBursts } from '../../src/triggers/bursts.js';
import { sweepDeliveries } from '../../src/triggers/delivery-rows.js';
import { createKey } from '../support/create-test-app.js';
import { hooked, hookOf, runsOf, type Sent, send } from '../support/hooks.js';
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

async function started(frontmatter: string) {
  const { name } = await app.workspace({ 'agents/writer.md': AGENT, 'flows/hooked.md': hooked(frontmatter) });
  const { hookUrl } = await hookOf(app, name);
  return {
    name,
    hookUrl,
    send: (body: unknown, more?: Sent) => send(app, hookUrl, body, more),
    runs: () => runsOf(app, name),
    deliveries: async () => (await bodyOf(app.get(`/api/workspaces/${name}/hooks/hooked/deliveries`))).deliveries,
  };
}

const HOOK = 'trigger: webhook';
const signed = (kind: string) => `trigger: webhook\nsignature: ${kind}\nsigning_secret: SIGNING`;
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

test.each<[string, string, string, unknown]>([
  ['a form', 'application/x-www-form-urlencoded', 'a=1&b=2&b=3', { a: '1', b: ['2', '3'] }],
  ['a form that holds JSON', 'application/x-www-form-urlencoded', `payload=${encodeURIComponent('{"a":1}')}`, { a: 1 }],
  ['JSON that says it is a form', 'application/x-www-form-urlencoded', '{"a":1}', { a: 1 }],
  ['text', 'text/plain', 'Hello', 'Hello'],
  ['JSON that says it is text', 'text/plain', '{"a":1}', { a: 1 }],
  ['nothing', 'application/json', '', null],
  ['a vendor’s JSON', 'application/vnd.acme+json; charset=utf-8', '[1]', [1]],
  ['what no row can hold', 'application/json', '{"a":"\\u0000\\ud83d\\ude00\\ud83d"}', { a: '\uFFFD😀\uFFFD' }],
  ['a hostile key', 'application/x-www-form-urlencoded', '__proto__=1', JSON.parse('{"__proto__":"1"}')],
])('a body may be %s', async (_name, type, body, input) => {
  const hook = await started(HOOK);
  expect((await hook.send(body, { type }))[0]).toBe(202);
  expect((await hook.runs()).map((run) => run.input)).toEqual([input]);
});

test.each<[string, string | Uint8Array, string, number]>([
  ['no JSON', '{', 'application/json', 400],
  ['no text', new Uint8Array([0xff, 0xfe]), 'text/plain', 400],
  ['files', '--x\r\n\r\n--x--', 'multipart/form-data; boundary=x', 415],
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
  ];
  const answers = await Promise.all(places.map((place) => send(app, place, '{broken')));
  for (const answer of answers) expect(answer).toEqual([401, { error: 'the token is not valid here' }]);
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
  await hook.send({}, { headers: { 'x-signature': hex('{}') } });
  await hook.send({});
  const told = [lines.join(''), JSON.stringify(await hook.deliveries()), JSON.stringify(await hook.runs())].join('\n');
  expect(told).not.toContain(token);
  expect(told).not.toContain(SECRET);
  expect(told).toContain('invalid-signature');
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

describe('debounce', () => {
  const DEBOUNCED = `${HOOK}\ndedupe: body.thread\ndebounce: 30s`;
  const dueNow = (name: string) =>
    app.deps.db.query(
      `UPDATE burst SET due_at = now() - interval '1 s' WHERE workspace_id = (SELECT id FROM workspace WHERE name = $1)`,
      [name],
    );

  test('a burst of one key is one run of its last body, begun once however many look', async () => {
    const hook = await started(DEBOUNCED);
    for (const n of [1, 2, 3]) {
      const [status, answer] = await hook.send({ thread: 'a', n });
      expect([status, answer]).toEqual([202, { ok: true, debounced: true, startsAt: expect.any(String) }]);
    }
    await hook.send({ thread: 'b', n: 4 });
    await sweepBursts(app.deps);
    expect(await hook.runs()).toEqual([]);
    await dueNow(hook.name);
    await Promise.all([1, 2, 3].map(() => sweepBursts(app.deps)));
    const inputs = (await hook.runs()).map(({ input, trigger }) => [input, trigger.deliveries]);
    expect(inputs).toHaveLength(2);
    expect(inputs).toEqual(
      expect.arrayContaining([
        [{ thread: 'a', n: 3 }, 3],
        [{ thread: 'b', n: 4 }, 1],
      ]),
    );
    const list = await hook.deliveries();
    expect(
      new Set(list.map((one: { runId: string; outcome: string }) => `${one.outcome} ${one.runId !== null}`)),
    ).toEqual(new Set(['started true']));
    await hook.send({ thread: 'a', n: 5 });
    await dueNow(hook.name);
    await sweepBursts(app.deps);
    expect((await hook.runs()).map(({ input }) => input)).toContainEqual({ thread: 'a', n: 5 });
  });

  test('the same delivery twice is one of the burst, and a burst without end is cut at ten times its quiet', async () => {
    const hook = await started(DEBOUNCED);
    const headers = { 'webhook-id': 'm' };
    await hook.send({ thread: 'a' }, { headers });
    expect((await hook.send({ thread: 'a' }, { headers }))[1]).toMatchObject({ debounced: true, duplicate: true });
    const where = 'WHERE workspace_id = (SELECT id FROM workspace WHERE name = $1)';
    expect(await app.deps.db.query(`SELECT count FROM burst ${where}`, [hook.name])).toEqual([{ count: 1 }]);
    await app.deps.db.query(`UPDATE burst SET opened_at = now() - interval '295 s' ${where}`, [hook.name]);
    await hook.send({ thread: 'a' });
    const [row] = await app.deps.db.query<{ late: boolean }>(
      `SELECT due_at > now() + interval '10 s' AS late FROM burst ${where}`,
      [hook.name],
    );
    expect(row).toEqual({ late: false });
  });

  test('a flow that was switched off meanwhile starts nothing, and the admin reads why', async () => {
    const hook = await started(DEBOUNCED);
    await hook.send({ thread: 'a' });
    await app.deploy(hook.name, {
      'agents/writer.md': AGENT,
      'flows/hooked.md': hooked(`${DEBOUNCED}\nenabled: false`),
    });
    await dueNow(hook.name);
    await sweepBursts(app.deps);
    expect(await hook.runs()).toEqual([]);
    expect(await hook.deliveries()).toMatchObject([
      { outcome: 'refused', detail: expect.stringContaining('switched off') },
    ]);
    expect(await sweepBursts(app.deps)).toBe(0);
  });
});

describe('deliveries', () => {
  test('one is made again by an admin, as the flow is now; one that proved nothing is not', async () => {
    const hook = await started(signed('hmac'));
    await hook.send('{"a":1}', { headers: { 'x-signature': hex('{"a":1}'), 'webhook-id': 'm' } });
    await hook.send('{"a":2}', { headers: { 'x-signature': 'no' } });
    const [bad, good] = await hook.deliveries();
    const again = (id: string) => app.post(`/api/workspaces/${hook.name}/hooks/hooked/deliveries/${id}/redeliver`);
    const answer = await again(good.id);
    expect(answer.status).toBe(202);
    expect((await hook.runs()).map((run) => [run.input, run.trigger.redeliveryOf])).toEqual([
      [{ a: 1 }, undefined],
      [{ a: 1 }, good.id],
    ]);
    expect((await hook.deliveries())[0]).toMatchObject({ outcome: 'started', redeliveryOf: good.id });
    expect((await again(bad.id)).status).toBe(409);
    expect((await again('no-such')).status).toBe(404);
    const as = await createKey(app.deps, { ...app, role: 'editor' });
    expect((await app.get(`/api/workspaces/${hook.name}/hooks/hooked/deliveries`, { as })).status).toBe(403);
  });

  test('the last hundred of a flow are kept', async () => {
    const hook = await started(HOOK);
    await app.deps.db.query(
      `INSERT INTO delivery (id, workspace_id, flow, kind, outcome)
        SELECT lpad(n::text, 26, '0'), w.id, 'hooked', 'webhook', 'filtered' FROM workspace w, generate_series(1, 150) n
        WHERE w.name = $1`,
      [hook.name],
    );
    await sweepDeliveries(app.deps.db);
    const rows = await app.deps.db.query<{ id: string }>(
      'SELECT d.id FROM delivery d JOIN workspace w ON w.id = d.workspace_id WHERE w.name = $1 ORDER BY d.id',
      [hook.name],
    );
    expect([rows.length, rows[0]?.id]).toEqual([100, '51'.padStart(26, '0')]);
    expect(await hook.deliveries()).toHaveLength(100);
  });
});
