import { createHmac } from 'node:crypto';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { createRoute, z } from '@hono/zod-openapi';
import { beforeAll, describe, expect, test } from 'vitest';
import { defineRoute } from '../../src/api/define-route.js';
import { routes } from '../../src/api/routes/index.js';
import { jsonBody, okResponse } from '../../src/api/schemas.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { startHook } from '../support/hooks.js';
import { createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

const Body = z.strictObject({ text: z.string().optional(), list: z.array(z.record(z.string(), z.any())).optional() });
const Form = z.object({ text: z.string() });
const echo = defineRoute({
  access: { role: 'viewer' },
  maxBodyBytes: 10_000,
  route: createRoute({
    method: 'post',
    path: '/api/echo',
    request: { body: jsonBody(Body) },
    responses: okResponse(Body),
  }),
  handle: async (c) => c.json(c.req.valid('json'), 200),
});
const form = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'post',
    path: '/api/form',
    request: { body: { content: { 'application/x-www-form-urlencoded': { schema: Form } } } },
    responses: okResponse(Form),
  }),
  handle: async (c) => c.json(c.req.valid('form'), 200),
});

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ routes: [echo, form] });
});

async function post(
  bytes: Uint8Array | string,
  headers: Record<string, string> = {},
  path = '/api/echo',
): Promise<[number, Record<string, unknown>, Headers]> {
  const body = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes);
  const all = { 'content-type': 'application/json', ...headers };
  const response = await app.request(path, { method: 'POST', headers: all, body });
  return [response.status, (await response.json()) as Record<string, unknown>, response.headers];
}

describe('JSON bodies', () => {
  test.each<[string, string, Uint8Array | string, string]>([
    ['UTF-8', 'application/json', Buffer.from('{"text":"café"}'), 'café'],
    ['UTF-8 with a byte order mark', 'application/json', Buffer.from('\uFEFF{"text":"café"}'), 'café'],
    [
      'the charset that is named',
      'application/json; charset=iso-8859-1',
      '{"text":"\x93caf\xe9\x94 \x80"}',
      '“café” €',
    ],
    ['UTF-8 that names another', 'application/json; charset=latin1', Buffer.from('{"text":"café"}'), 'café'],
    ['UTF-16', 'application/json; charset=utf-16le', Buffer.from('{"text":"é"}', 'utf16le'), 'é'],
    ['a charset that is unknown, in UTF-8', 'application/json; charset=none', Buffer.from('{"text":"é"}'), 'é'],
    ['whole surrogate pairs by escapes', 'application/json', '{"text":"\\ud83d\\ude00 \\\\ud83d"}', '😀 \\ud83d'],
  ])('are read in %s', async (_name, type, bytes, text) => {
    expect((await post(bytes, { 'content-type': type })).slice(0, 2)).toEqual([200, { text }]);
  });

  test.each([
    ['application/json', '{"text":"caf\xe9"}'],
    ['application/json; charset=utf-8', '{"text":"caf\xe9"}'],
    ['application/json; charset=none', '{"text":"caf\xe9"}'],
    ['application/json', '{"text":"\xed\xa0\x80"}'],
    ['application/json; charset=shift_jis', '{"text":"\xff"}'],
    ['application/json', '{"\xff":1}'],
  ])('in no charset that is named are refused and not stored as another text: %s %s', async (type, bytes) => {
    expect((await post(bytes, { 'content-type': type })).slice(0, 2)).toEqual([
      400,
      { error: 'the body is not UTF-8: send UTF-8, or name its charset in Content-Type', code: 'not-utf-8' },
    ]);
  });

  test.each([
    ['{"text":"a\\ud83d"}', 'body.text'],
    ['{"text":"\\ude00\\ud83d"}', 'body.text'],
    ['{"list":[{"a":1},{"b":{"c":["\\uDC00"]}}]}', 'body.list.1.b.c.0'],
    ['{"list":[{"\\ud800":1}]}', 'body.list.0'],
  ])('with half a surrogate pair are refused with its place: %s', async (sent, path) => {
    const [status, answer] = await post(sent);
    expect([status, answer.code, answer.issues]).toEqual([422, 'invalid', [{ path, message: expect.any(String) }]]);
  });
});

test.each<[string, string, string]>([
  ['UTF-8', '', 'text=caf%C3%A9+1'],
  ['the charset that is named', '; charset=iso-8859-1', 'text=caf%E9+1'],
  ['the charset that a field names', '', '_charset_=windows-1252&text=caf%e9%201'],
])('a form is read in %s', async (_name, charset, sent) => {
  const type = `application/x-www-form-urlencoded${charset}`;
  const [status, { text }] = await post(sent, { 'content-type': type }, '/api/form');
  expect([status, text]).toEqual([200, 'café 1']);
});

test('a form in no charset that is named is refused and not stored as another text', async () => {
  const type = 'application/x-www-form-urlencoded';
  expect((await post('text=caf%E9', { 'content-type': type }, '/api/form')).slice(0, 2)).toMatchObject([
    400,
    { code: 'not-utf-8' },
  ]);
});

const CODINGS: readonly [string, (bytes: Uint8Array) => Uint8Array][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['identity', (bytes) => bytes],
];

describe('content codings', () => {
  test.each(CODINGS)('%s is decoded', async (coding, encode) => {
    const sent = encode(Buffer.from('{"text":"café"}'));
    expect((await post(sent, { 'content-encoding': coding })).slice(0, 2)).toEqual([200, { text: 'café' }]);
  });

  test('the limit holds for what comes out as for what came in', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, ' '));
    const [status, { limitBytes }] = await post(bomb.subarray(0, 9_999), { 'content-encoding': 'gzip' });
    expect([status, limitBytes]).toEqual([413, 10_000]);
    expect((await post(gzipSync(Buffer.alloc(10_001, ' ')), { 'content-encoding': 'gzip' }))[0]).toBe(413);
    expect((await post(Buffer.alloc(10_001, ' '), { 'content-encoding': 'gzip' }))[0]).toBe(413);
  });

  test('what is broken or cut off is 400, another coding 415 with those that are taken', async () => {
    const whole = gzipSync(Buffer.from('{"text":"café"}'));
    expect((await post(whole.subarray(0, -9), { 'content-encoding': 'gzip' }))[0]).toBe(400);
    expect((await post('{}', { 'content-encoding': 'gzip' }))[0]).toBe(400);
    expect((await post('{}', { 'content-encoding': 'deflate' }))[0]).toBe(400);
    for (const coding of ['br', 'gzip, gzip', 'constructor']) {
      const [status, { code }, headers] = await post(whole, { 'content-encoding': coding });
      expect([status, code, headers.get('accept-encoding')]).toEqual([415, 'unsupported-encoding', 'gzip, deflate']);
    }
  });
});

describe('a hook', () => {
  const SECRET = "It's a Secret to Everybody";
  let stage: WorkspaceApp;
  beforeAll(async () => {
    stage = await createWorkspaceApp({ routes });
    expect((await stage.put('/api/secrets', { name: 'SIGNING', value: SECRET })).status).toBe(200);
  });

  test.each(CODINGS)('takes a body in %s', async (coding, encode) => {
    const hook = await startHook(stage, 'trigger: webhook');
    const body = encode(Buffer.from('{"a":"é"}'));
    expect((await hook.send(body, { headers: { 'content-encoding': coding } }))[0]).toBe(202);
    expect((await hook.runs()).map((run) => run.input)).toEqual([{ a: 'é' }]);
  });

  test('is signed over the bytes as received, and decoded after that', async () => {
    const hook = await startHook(stage, 'trigger: webhook\nsignature: code_host\nsigning_secret: SIGNING');
    const packed = gzipSync(Buffer.from('{"a":1}'));
    const deliver = (signed: Uint8Array | string) => {
      const mac = createHmac('sha256', SECRET).update(signed).digest('hex');
      const headers = { 'content-encoding': 'gzip', 'x-hub-signature-256': `sha256=${mac}` };
      return hook.send(packed, { headers });
    };
    expect((await deliver('{"a":1}'))[0]).toBe(401);
    expect((await deliver(packed))[0]).toBe(202);
    expect((await hook.runs()).map((run) => run.input)).toEqual([{ a: 1 }]);
  });

  test('refuses a bomb, a broken body and another coding, and the deliveries say so', async () => {
    const hook = await startHook(stage, 'trigger: webhook');
    const bomb = gzipSync(Buffer.alloc(20_000_000, ' '));
    const sendAs = async (coding: string, body: Uint8Array) =>
      (await hook.send(body, { headers: { 'content-encoding': coding } }))[0];
    expect(await sendAs('gzip', bomb)).toBe(413);
    expect(await sendAs('gzip', Buffer.from('{}'))).toBe(400);
    expect(await sendAs('br', Buffer.from('{}'))).toBe(415);
    expect(await hook.runs()).toEqual([]);
    expect((await hook.deliveries()).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'refused',
      'refused',
    ]);
  });

  test('takes a form in parts in the charset that it names, and refuses one in none', async () => {
    const hook = await startHook(stage, 'trigger: webhook');
    const part = (name: string, text: string) =>
      `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
    const type = 'multipart/form-data; boundary=x';
    const latin = (text: string) => Buffer.from(`${text}--x--\r\n`, 'latin1');
    expect((await hook.send(latin(part('a', 'caf\xe9')), { type }))[0]).toBe(400);
    const named = part('_charset_', 'windows-1252') + part('a', '\x93caf\xe9\x94');
    expect((await hook.send(latin(named), { type }))[0]).toBe(202);
    expect((await hook.runs()).map((run) => run.input)).toEqual([{ _charset_: 'windows-1252', a: '“café”' }]);
  });
});
