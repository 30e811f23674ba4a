import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { HOSTILE_URLS } from '../support/hostile-urls.js';
import { createHttpLane, httpPlan, httpTools } from '../support/http-tools.js';
import { startLocalServer } from '../support/local-server.js';
import { noise } from '../support/noise.js';
import { createToolLane, type ToolLane } from '../support/tool-lane.js';

let lane: ToolLane;
beforeEach(async () => {
  lane = await createHttpLane({ 'knowledge/logo.svg': '<svg/>' });
});
const WRITES = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const echo = () =>
  startLocalServer(({ method, path, headers, body }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ method, path, headers, body }));
  });

test('a tool without methods only reads, and says what it does allow', async () => {
  const server = await echo();
  const { tools, call } = await httpTools(lane, httpPlan({ base: server.url }));
  expect(tools[0]?.spec.parameters.properties).not.toHaveProperty('body');
  expect(tools[0]?.acts({ path: '/x' })).toBe(false);
  expect((await call('shop', { path: '/orders', query: { a: [1, 2], b: 'x y' } })).text).toContain(
    '/orders?a=1&a=2&b=x%20y',
  );
  const refused = await call('shop', { path: '/orders', method: 'DELETE' });
  expect(refused).toEqual({ text: 'tool shop does not allow DELETE: its methods are GET, HEAD', isError: true });
  expect(server.requests).toHaveLength(1);
  const writer = await httpTools(lane, httpPlan({ base: server.url, methods: WRITES }));
  expect(writer.tools[0]?.acts({ path: '/x', method: 'POST' })).toBe(true);
  expect(writer.tools[0]?.acts({ path: '/x', method: 'get' })).toBe(false);
});

test('writes carry a key that is the same when the very call is made again; bodies go as they are meant', async () => {
  const server = await echo();
  const { call } = await httpTools(lane, httpPlan({ base: `${server.url}/api`, methods: WRITES }));
  const post = (args: object) => call('shop', { path: 'orders', method: 'POST', ...args });
  await post({ body: { a: 1 } });
  await post({ body: { a: 1 } });
  await post({ body: 'plain text' });
  await post({ body: '{"as": "text"}' });
  await post({ body: { 'a b': 'c&d', list: [1, 2] }, content_type: 'application/x-www-form-urlencoded' });
  await post({ body: { title: 'Ünï' }, files: { file: 'knowledge/logo.svg' } });
  await post({ upload: 'knowledge/logo.svg' });
  await call('shop', { path: 'orders' });
  const seen = server.requests.map(({ headers, body }) => [headers['content-type'], body]);
  expect(seen.slice(0, 5)).toEqual([
    ['application/json', '{"a":1}'],
    ['application/json', '{"a":1}'],
    ['text/plain; charset=utf-8', 'plain text'],
    ['application/json', '{"as": "text"}'],
    ['application/x-www-form-urlencoded', 'a+b=c%26d&list=1&list=2'],
  ]);
  expect(seen[5]?.[0]).toMatch(/^multipart\/form-data; boundary=/);
  expect(seen[5]?.[1]).toContain('name="title"\r\n\r\nÜnï\r\n');
  expect(seen[5]?.[1]).toContain('name="file"; filename="logo.svg"\r\nContent-Type: image/svg+xml\r\n\r\n<svg/>\r\n');
  expect(seen[6]).toEqual(['image/svg+xml', '<svg/>']);
  expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
    ...Array(7).fill('call-key-1'),
    undefined,
  ]);
  expect((await post({ upload: 'files/none' })).text).toContain('there is no file files/none');
  expect((await post({ upload: '../../etc/passwd' })).isError).toBe(true);
});

test('security 19: a request stays on its base’s origin and path, whatever the model writes', async () => {
  const server = await echo();
  const { call } = await httpTools(lane, httpPlan({ base: `${server.url}/api/v1`, methods: WRITES }));
  const hostile = [
    ...[
      '../admin',
      '/../admin',
      '/a/../../../admin',
      '/%2e%2e/admin',
      '/a/%2E%2e%2fadmin',
      '/..%2fadmin',
      '/..%5cadmin',
    ],
    ...[
      '/%252e%252e/admin',
      '/%25252e%25252e%25252fadmin',
      '\\..\\admin',
      '/a\\..\\..\\..\\admin',
      '/..;/admin',
      '/..;x=1/admin',
    ],
    ...[
      '//evil.example/',
      '///evil.example',
      '/\\evil.example',
      'https://evil.example/x',
      'http:evil.example',
      'HTTPS://evil.example',
    ],
    ...[
      'javascript:alert(1)',
      '@evil.example/x/../..',
      '/a b',
      '/a\tb',
      '/a\nb',
      '/a#b',
      '.',
      './',
      '/./',
      '/%2e/',
      'a/.',
    ],
  ];
  for (const path of hostile) {
    for (const method of ['GET', 'DELETE']) await call('shop', { path, method });
  }
  for (const { path } of server.requests) expect(path).toMatch(/^\/api\/v1(\/|$|\?)/);
  for (const { path } of server.requests) expect(decodeURIComponent(decodeURIComponent(path))).not.toContain('..');
  const before = server.requests.length;
  for (const path of ['', '/', '/ok', 'ok', '/%C3%BC', '/a:b@c', '/?x=1', '?x=1']) await call('shop', { path });
  expect(server.requests.slice(before).map(({ path }) => path)).toEqual([
    ...[
      '/api/v1',
      '/api/v1/',
      '/api/v1/ok',
      '/api/v1/ok',
      '/api/v1/%C3%BC',
      '/api/v1/a:b@c',
      '/api/v1/?x=1',
      '/api/v1?x=1',
    ],
  ]);
});

test('security 19: credentials go to no other origin, and no redirect leads out of the base', async () => {
  const other = await echo();
  const server = await startLocalServer(({ path }, response) => {
    const to = {
      '/api/other': `${other.url}/x`,
      '/api/up': '/admin',
      '/api/deep': '/api/%2e%2e/admin',
      '/api/in': '/api/end',
    }[path];
    if (to) response.writeHead(302, { location: to }).end();
    else response.end('the end');
  });
  const plan = httpPlan({ base: `${server.url}/api`, methods: WRITES, headers: { Authorization: 'Bearer ${TOKEN}' } });
  const { call } = await httpTools(lane, plan, { secrets: { TOKEN: 'canary-secret-77' } });
  for (const path of ['/other', '/up', '/deep']) {
    const { text, isError } = await call('shop', { path });
    expect([path, isError, text]).toEqual([
      path,
      true,
      expect.stringMatching(/^the redirect of 127\.0\.0\.1:\d+ leads from .* to .*: it is not followed$/),
    ]);
  }
  expect(await call('shop', { path: '/in' })).toMatchObject({ isError: false, text: '200 OK\n\nthe end' });
  expect(other.requests).toEqual([]);
  expect(server.requests.map(({ path }) => path)).not.toContain('/admin');
  for (const { headers } of server.requests) expect(headers.authorization).toBe('Bearer canary-secret-77');
});

test('security 19: a secret that is not granted is refused by name, and so is one that a header cannot carry', async () => {
  const server = await echo();
  const plan = httpPlan({ base: server.url, headers: { 'X-Key': 'k ${TOKEN}' } });
  const refused = await (await httpTools(lane, plan)).call('shop', { path: '/' });
  expect(refused.text).toBe(
    'tool shop needs the secret TOKEN, which this step may not use: name it in secrets: of the agent, the step or the flow',
  );
  for (const value of ['two\r\nlines: x', 'snow ☃ man', 'nul\0nul']) {
    const { text, isError } = await (await httpTools(lane, plan, { secrets: { TOKEN: value } })).call('shop', {
      path: '/',
    });
    expect([isError, text]).toEqual([true, expect.stringContaining('the secret TOKEN has a line break')]);
    expect(text).not.toContain(value);
  }
  expect(server.requests).toEqual([]);
  const inBase = httpPlan({ base: `${server.url}/bot\${TOKEN}` });
  const { call } = await httpTools(lane, inBase, { secrets: { TOKEN: '12:a/b?c@d' } });
  const { text } = await call('shop', { path: '/send' });
  expect(server.requests[0]?.path).toBe('/bot12%3Aa%2Fb%3Fc%40d/send');
  expect(text).not.toMatch(/12(:|%3A)a/);
});

test('security 21: no hostile address is asked by a tool, as its base or for its document', async () => {
  const shut = await createToolLane();
  const server = await startLocalServer((_request, response) => void response.end('{}'));
  for (const [hostile] of HOSTILE_URLS) {
    const url = hostile.replaceAll('8765', String(server.port));
    for (const plan of [httpPlan({ base: url }), httpPlan({ base: 'https://api.example', openapi: url })]) {
      if (plan.openapi !== undefined && !/^https?:/.test(plan.openapi)) continue;
      const { call } = await httpTools(shut, plan);
      const { isError, text } = await call('shop', { path: '/' }).catch((error: Error) => ({
        isError: true,
        text: error.message,
      }));
      expect([url, isError], text).toEqual([url, true]);
    }
  }
  expect(server.requests).toEqual([]);
});

test('a hostile server: each of its tricks is a clear tool error, nothing is leaked, and the next call goes on', async () => {
  const secret = 'canary-secret-4711';
  const server = await startLocalServer(({ path, headers }, response) => {
    const given = String(headers.authorization);
    const tricks: Readonly<Record<string, () => void>> = {
      '/echo': () =>
        void response
          .setHeader('content-type', 'text/plain')
          .end(`${given} ${Buffer.from(given).toString('base64')} ${encodeURIComponent(given)}`),
      '/echo-error': () =>
        void response
          .writeHead(401, { 'x-request-id': given, 'content-type': 'application/json' })
          .end(JSON.stringify({ given })),
      '/never': () => void response.writeHead(200, { 'content-type': 'text/plain' }).write('…'),
      '/silent': () => undefined,
      '/gigabyte': () => {
        response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': String(2 ** 30) });
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on('drain', more);
        more();
      },
      '/json': () => void response.setHeader('content-type', 'application/json').end('{"a": tru'),
      '/loop': () => void response.writeHead(302, { location: '/loop' }).end(),
      '/huge-headers': () =>
        void response.writeHead(200, { 'x-a': 'a'.repeat(15_000), 'x-b': 'b'.repeat(15_000) }).end(),
      '/cut': () => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('half');
        response.socket?.destroy();
      },
      '/bytes-as-text': () =>
        void response.setHeader('content-type', 'text/plain').end(Buffer.from([0xff, 0xfe, 0, 1])),
    };
    (tricks[path] ?? (() => void response.end('well')))();
  });
  const plan = httpPlan({
    base: server.url,
    methods: WRITES,
    timeoutMs: 1_000,
    headers: { Authorization: `Bearer \${TOKEN}` },
  });
  const { call } = await httpTools(lane, plan, { secrets: { TOKEN: secret } });
  const patient = await httpTools(lane, { ...plan, timeoutMs: 120_000 }, { secrets: { TOKEN: secret } });
  const told = new Map<string, string>();
  const errors: Readonly<Record<string, RegExp>> = {
    '/echo-error': /^401 Unauthorized\nx-request-id: Bearer \[secret TOKEN\]/,
    '/never': /did not answer in full within 1 s$/,
    '/silent': /did not answer in full within 1 s$/,
    '/gigabyte': /answers with more than 32 MiB$/,
    '/json': /the answer says that it is JSON, and is not\. It begins:\n\{"a": tru/,
    '/loop': /redirects more than 5 times$/,
    '/huge-headers': /answers with headers of over 16 KiB/,
    '/cut': /closed the connection or sent an invalid HTTP response/,
  };
  for (const [path, sentence] of Object.entries(errors)) {
    const ask = /^\/(never|silent)$/.test(path) ? call : patient.call;
    const { text, isError } = await ask('shop', { path });
    expect([path, isError, text]).toEqual([path, true, expect.stringMatching(sentence)]);
    told.set(path, text);
  }
  told.set('/echo', (await patient.call('shop', { path: '/echo' })).text);
  const file = await patient.call('shop', { path: '/bytes-as-text' });
  expect(file).toMatchObject({ isError: false, left: true });
  for (const [path, text] of told) {
    for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, 16)])
      expect([path, text]).not.toContain(form);
    expect(text.length).toBeLessThan(5_000);
  }
  expect((await patient.call('shop', { path: '/well' })).text).toBe('200 OK\n\nwell');
});

test('an acting call that was cut may have partly run, and says so; a reading one does not', async () => {
  const server = createServer((socket) => void socket.on('data', () => undefined).on('error', () => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const base = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const { call } = await httpTools(lane, httpPlan({ base, methods: WRITES, timeoutMs: 300 }));
  expect((await call('shop', { path: '/', method: 'POST', body: {} })).text).toContain('may have partly run');
  expect((await call('shop', { path: '/' })).text).not.toContain('partly');
  const nobody = await httpTools(lane, httpPlan({ base: 'http://127.0.0.1:1', methods: WRITES }));
  expect((await nobody.call('shop', { path: '/', method: 'POST' })).text).not.toContain('partly');
});

test('an answer of bytes is a file under files/, the same when the call is made again, without a secret in it', async () => {
  const png = noise(2_000);
  const server = await startLocalServer(({ path }, response) => {
    if (path === '/named') response.setHeader('content-disposition', 'attachment; filename="../../Report 1.pdf"');
    response.setHeader('content-type', path === '/named' ? 'application/pdf' : 'image/png');
    response.end(path === '/secret' ? Buffer.concat([Buffer.from([0xff]), Buffer.from('canary-secret-99')]) : png);
  });
  const { call } = await httpTools(lane, httpPlan({ base: server.url }), { secrets: { TOKEN: 'canary-secret-99' } });
  const picture = await call('shop', { path: '/logo' });
  expect(picture).toMatchObject({
    isError: false,
    left: true,
    text: '200 OK\nsaved files/shop-call-key.png (2000 bytes of image/png)',
  });
  expect((await call('shop', { path: '/logo' })).text).toBe(picture.text);
  expect(await readFile(`${lane.context.folder.work}/files/shop-call-key.png`)).toEqual(png);
  expect((await call('shop', { path: '/named' })).text).toContain('saved files/Report_1-call-key.pdf');
  await call('shop', { path: '/secret' });
  expect(await readFile(`${lane.context.folder.work}/files/shop-call-key.png`, 'latin1')).not.toContain(
    'canary-secret-99',
  );
});
