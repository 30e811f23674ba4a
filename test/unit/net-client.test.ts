import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../src/platform/config/index.js';
import { createNet, type NetAnswer, type NetFault } from '../../src/platform/net/index.js';
import { type Respond, startLocalServer } from '../support/local-server.js';

const net = createNet({
  config: parseConfig({ SERVICE_ALLOW_HOSTS: '127.0.0.1,localhost' }, '1.0.0'),
  resolve: async () => [{ address: '127.0.0.1', family: 4 }],
});
const KIB = 1_024;

function textOf(result: NetAnswer | NetFault): string {
  if (result.kind === 'fault') throw new Error(result.message);
  return Buffer.from(result.body).toString('utf8');
}

/** A server that answers with these bytes whatever it is asked, and hangs up where they end. */
async function startRawServer(bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a request goes out as it is, and any status is an answer', async () => {
  const server = await startLocalServer((_request, response) => {
    response.writeHead(418, { 'x-a': ['1', '2'] }).end('short and stout');
  });
  const headers = { Authorization: 'Bearer t', 'content-type': 'text/plain' };
  const result = await net.request({ url: `${server.url}/a?b=c`, method: 'POST', headers, body: 'ünï' });
  expect(result).toMatchObject({ kind: 'answer', status: 418, url: `${server.url}/a?b=c` });
  expect(result.kind === 'answer' && result.headers.get('x-a')).toBe('1, 2');
  expect(textOf(result)).toBe('short and stout');
  expect(server.requests[0]).toMatchObject({
    method: 'POST',
    path: '/a?b=c',
    body: 'ünï',
    headers: { authorization: 'Bearer t', 'user-agent': 'signalbox/1.0.0' },
  });
});

test('security 21: to another origin a redirect takes no credential along, under whatever name', async () => {
  const other = await startLocalServer((_request, response) => void response.end('there'));
  const server = await startLocalServer(({ path }, response) => {
    const to = path === '/here' ? '/again' : path === '/again' ? `http://localhost:${other.port}/there` : '/here';
    response.writeHead(302, { location: to }).end();
  });
  const credentials = { authorization: 'Bearer t', cookie: 'a=b', 'x-api-key': 'k', 'private-token': 'p' };
  const result = await net.request({ url: `${server.url}/start`, headers: { ...credentials, accept: 'text/csv' } });
  expect(textOf(result)).toBe('there');
  expect(server.requests.map(({ path }) => path)).toEqual(['/start', '/here', '/again']);
  for (const { headers } of server.requests) expect(headers).toMatchObject(credentials);
  expect(other.requests[0]?.headers).toMatchObject({ accept: 'text/csv' });
  for (const name of [...Object.keys(credentials), 'referer'])
    expect(other.requests[0]?.headers).not.toHaveProperty(name);
});

test.each([
  ['a private address', 'http://10.0.0.1/', 'denied'],
  ['the metadata address', 'http://169.254.169.254/latest', 'denied'],
  ['a file', 'file:///etc/passwd', 'bad-url'],
  ['a user and a password', 'http://u:p@127.0.0.1/', 'bad-url'],
  ['no address', 'http://[', 'redirect'],
])('security 21: a redirect to %s is refused', async (_what, location, fault) => {
  const server = await startLocalServer((_request, response) => void response.writeHead(302, { location }).end());
  expect(await net.request({ url: server.url })).toMatchObject({ kind: 'fault', fault, sent: true });
});

test('security 21: with httpsOnly a redirect to plain http is refused', async () => {
  const server = await startLocalServer((_request, response) => {
    response.writeHead(302, { location: 'http://example.com/' }).end();
  });
  expect(await net.request({ url: server.url, httpsOnly: true })).toMatchObject({ fault: 'denied' });
});

test('a body is not carried to another origin, and a POST that is sent on within its own becomes what the standard says', async () => {
  const server = await startLocalServer(({ path, method }, response) => {
    const [, status, where] = path.split('/');
    if (where === undefined) return void response.end(method);
    const location = where === 'away' ? `http://localhost:${server.port}/` : '/';
    response.writeHead(Number(status), { location }).end();
  });
  const post = (path: string) => net.request({ url: `${server.url}${path}`, method: 'POST', body: 'secret=1' });
  for (const status of [307, 308]) {
    expect(textOf(await post(`/${status}/home`))).toBe('POST');
    expect(await post(`/${status}/away`)).toMatchObject({ fault: 'redirect', sent: true });
  }
  for (const status of [301, 302, 303]) {
    expect(textOf(await post(`/${status}/home`))).toBe('GET');
    expect(textOf(await post(`/${status}/away`))).toBe('GET');
  }
  expect(server.requests.filter(({ method }) => method === 'GET').every(({ body }) => body === '')).toBe(true);
});

test('redirects without an end are given up, and with none followed the redirect is the answer', async () => {
  const server = await startLocalServer((_request, response) => {
    response.writeHead(302, { location: '/again' }).end('look there');
  });
  expect(await net.request({ url: server.url })).toMatchObject({ fault: 'redirect' });
  expect(server.requests).toHaveLength(6);
  const plain = await net.request({ url: server.url, redirects: 0 });
  expect(plain).toMatchObject({ kind: 'answer', status: 302 });
  expect(textOf(plain)).toBe('look there');
});

/** Not its best: that takes seconds for a bomb, which is no smaller for it. */
const brotli = (data: Buffer | string) => brotliCompressSync(data, { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } });

test.each([
  ['gzip', (data: Buffer | string) => gzipSync(data)],
  ['br', brotli],
])('security 21: %s is unpacked, and counted as it unpacks', async (encoding, pack) => {
  const bomb = pack(Buffer.alloc(64 * KIB * KIB));
  expect(bomb.length).toBeLessThan(100 * KIB);
  const server = await startLocalServer(({ path }, response) => {
    response.writeHead(200, { 'content-encoding': encoding });
    if (path !== '/bomb') return void response.end(pack('hello'));
    // The rest of it never comes: what it says it is too large by is what it has unpacked so far.
    response.write(bomb.subarray(0, bomb.length / 2));
  });
  expect(textOf(await net.request({ url: server.url }))).toBe('hello');
  expect(await net.request({ url: `${server.url}/bomb`, maxBytes: 100 * KIB })).toMatchObject({
    fault: 'too-large',
    message: expect.stringContaining('more than 100 KiB'),
  });
});

test('security 21: a body without an end stops at its limit, and one at the limit passes', async () => {
  const server = await startLocalServer(({ path }, response) => {
    if (path === '/exact') return void response.end(Buffer.alloc(10 * KIB));
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(KIB)));
    };
    response.on('drain', more);
    more();
  });
  expect(await net.request({ url: server.url, maxBytes: 10 * KIB })).toMatchObject({ fault: 'too-large' });
  expect(textOf(await net.request({ url: `${server.url}/exact`, maxBytes: 10 * KIB }))).toHaveLength(10 * KIB);
});

test('security 21: headers have a limit', async () => {
  const url = await startRawServer(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`);
  expect(await net.request({ url })).toMatchObject({ fault: 'too-large', sent: true });
});

const slow: readonly (readonly [string, Respond])[] = [
  ['says nothing', () => undefined],
  ['begins an answer and goes silent', (_request, response) => void response.writeHead(200).write('a')],
  [
    'drips',
    (_request, response) => {
      const timer = setInterval(() => response.write('a'), 10);
      response.on('close', () => clearInterval(timer));
    },
  ],
];
test.each(slow)('security 21: one that %s is given up when its time is over', async (_what, respond) => {
  const server = await startLocalServer(respond);
  const result = await net.request({ url: server.url, timeoutMs: 300 });
  expect(result).toMatchObject({ fault: 'timeout', sent: true, message: expect.stringContaining('within 0.3 s') });
});

test('a name that resolves to nothing for ever costs the time given, and nothing was sent', async () => {
  const waiting = createNet({ config: parseConfig({}, '1'), resolve: () => new Promise(() => undefined) });
  const result = await waiting.request({ url: 'https://example.com/', timeoutMs: 100 });
  expect(result).toMatchObject({ fault: 'timeout', sent: false });
});

test('a stop ends the request, before it and in it', async () => {
  const stop = new AbortController();
  const server = await startLocalServer(() => stop.abort());
  expect(await net.request({ url: server.url, signal: stop.signal })).toMatchObject({ fault: 'stopped', sent: true });
  expect(await net.request({ url: server.url, signal: stop.signal })).toMatchObject({ fault: 'stopped', sent: false });
  expect(server.requests).toHaveLength(1);
});

test('what never arrived is told apart from what may have', async () => {
  const closed = await startRawServer('');
  const nobody = await startLocalServer(() => undefined);
  const dead = createServer().listen(0, '127.0.0.1');
  await once(dead, 'listening');
  const { port } = dead.address() as AddressInfo;
  dead.close();
  await once(dead, 'close');
  expect(await net.request({ url: closed })).toMatchObject({ fault: 'broken', sent: true });
  expect(await net.request({ url: `http://127.0.0.1:${port}` })).toMatchObject({ fault: 'unreachable', sent: false });
  expect(await net.request({ url: nobody.url.replace('http', 'https') })).toMatchObject({ fault: 'tls', sent: false });
  expect(nobody.requests).toEqual([]);
});

test.each([
  ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a body that is too short', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
  ['what is no gzip', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc'],
  ['an unknown encoding', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip, br\r\ncontent-length: 3\r\n\r\nabc'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 3\r\n\r\nabc'],
])('an answer with %s is a fault with a sentence', async (_what, bytes) => {
  const result = await net.request({ url: await startRawServer(bytes) });
  expect(result).toMatchObject({ kind: 'fault', fault: 'broken', sent: true });
});

test('security 19: a header that cannot carry its value is refused, without the value being told', async () => {
  const server = await startLocalServer((_request, response) => void response.end());
  const bad: Record<string, string>[] = [
    { authorization: 'Bearer hunter2\r\nx-b: 1' },
    { authorization: 'hunter2\u0000' },
    { authorization: 'hunter2–' },
    { 'x a': 'hunter2' },
    { host: 'hunter2.example.com' },
    { 'Transfer-Encoding': 'hunter2' },
  ];
  for (const headers of bad) {
    const result = await net.request({ url: server.url, headers });
    expect(result).toMatchObject({ fault: 'bad-request', sent: false });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  }
  expect(await net.request({ url: server.url, method: 'CONNECT' })).toMatchObject({
    fault: 'bad-request',
    sent: false,
  });
  expect(server.requests).toEqual([]);
});

test('an answer without a body is one', async () => {
  const server = await startLocalServer((_request, response) => {
    response.writeHead(204, { 'content-encoding': 'gzip' }).end();
  });
  expect(await net.request({ url: server.url })).toMatchObject({ status: 204, body: { length: 0 } });
  expect(await net.request({ url: server.url, method: 'HEAD' })).toMatchObject({ status: 204 });
});

test('security 21: an answer that does not end is handed over as it comes, and ends its connection when nobody wants it', async () => {
  const closed: string[] = [];
  const server = await startLocalServer(({ path }, response) => {
    response.once('close', () => closed.push(path));
    if (path === '/silent') return;
    if (path === '/away') return void response.writeHead(307, { location: 'http://127.0.0.2/' }).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    if (path === '/flood') {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(64 * KIB)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    }
  });
  const open = async (path: string, more = {}) => {
    const result = await net.open({ url: `${server.url}${path}`, ...more });
    if (result.kind === 'fault') throw new Error(result.message);
    return result;
  };
  const first = await open('/first');
  const reader = first.body.getReader();
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('data: 1\n\n');
  await reader.cancel();
  await expect.poll(() => closed).toContain('/first');

  const stop = new AbortController();
  const stopped = (await open('/stopped', { signal: stop.signal })).body.getReader();
  await stopped.read();
  stop.abort();
  await expect(stopped.read()).rejects.toThrow();
  await expect.poll(() => closed).toContain('/stopped');

  const flood = (await open('/flood', { maxBytes: 200 * KIB })).body.getReader();
  const drain = async () => {
    while (!(await flood.read()).done);
  };
  await expect(drain()).rejects.toThrow('answers with more than 200 KiB');
  await expect.poll(() => closed).toContain('/flood');

  expect(await net.open({ url: `${server.url}/silent`, timeoutMs: 200 })).toMatchObject({
    fault: 'timeout',
    message: `127.0.0.1:${server.port} did not answer within 0.2 s`,
    sent: true,
  });
  await expect.poll(() => closed).toContain('/silent');
  expect(await open('/away')).toMatchObject({ status: 307 });
  expect(await net.open({ url: 'http://10.0.0.1/' })).toMatchObject({ fault: 'denied', sent: false });
});
