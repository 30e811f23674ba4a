import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { EnvHttpProxyAgent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterEach, expect, test, vi } from 'vitest';
import { postToOperatorUrl } from '../../src/platform/net/index.js';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(request, response));
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

interface Ask {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}
const post = (url: string, { headers = {}, signal = new AbortController().signal }: Ask = {}) =>
  postToOperatorUrl(url, { headers, body: 'x', signal });

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Whether it succeeds, and otherwise the class and text of the error and of its cause's code. */
async function outcome(work: () => Promise<unknown>): Promise<string> {
  try {
    return `done: ${await work()}`;
  } catch (error) {
    const { name, message, cause } = error as Error;
    return [name, message, (cause as { code?: string } | undefined)?.code].filter(Boolean).join(': ');
  }
}

const viaFetch = (url: string) => outcome(async () => (await fetch(url, { method: 'POST', body: 'x' })).text());
const viaPost = (url: string) => outcome(async () => textOf((await post(url)).body));

const TEXT = 'data: {"a":"täglich"}\n\n'.repeat(200);
const CODED: [string, string, Buffer][] = [
  ['nothing', '', Buffer.from(TEXT)],
  ['identity', 'identity', Buffer.from(TEXT)],
  ['gzip', 'gzip', gzipSync(TEXT)],
  ['gzip in capitals', 'GZIP', gzipSync(TEXT)],
  ['x-gzip', 'x-gzip', gzipSync(TEXT)],
  ['deflate', 'deflate', deflateSync(TEXT)],
  ['raw deflate', 'deflate', deflateRawSync(TEXT)],
  ['br', 'br', brotliCompressSync(TEXT)],
  ['gzip, then br', 'gzip, br', brotliCompressSync(gzipSync(TEXT))],
  ['raw deflate, then gzip', 'deflate, gzip', gzipSync(deflateRawSync(TEXT))],
  ['gzip, then raw deflate', 'gzip, deflate', deflateRawSync(gzipSync(TEXT))],
];
test.each(CODED)('%s: an answer in this coding is read, as fetch reads it', async (_name, coding, bytes) => {
  const { url } = await serve((_request, response) => {
    response.writeHead(200, coding === '' ? {} : { 'content-encoding': coding });
    // In pieces of odd sizes: one byte, then the rest in three.
    response.write(bytes.subarray(0, 1));
    for (let at = 1; at < bytes.length; at += 61) response.write(bytes.subarray(at, at + 61));
    response.end();
  });
  expect(await viaPost(url)).toBe(`done: ${TEXT}`);
  expect(await viaFetch(url)).toBe(`done: ${TEXT}`);
});

test('an answer in an unknown coding, and one with more codings than anyone uses, stays as it is', async () => {
  for (const coding of ['aes128gcm', 'gzip, aes128gcm', Array(6).fill('gzip').join(', ')]) {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end('as it is');
    });
    expect(await viaPost(url)).toBe('done: as it is');
  }
});

const CODINGS: [string, Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
];
test.each(CODINGS)(
  '%s: of half an answer the half is read; garbage and a cut connection are errors',
  async (coding, bytes) => {
    const half = bytes.subarray(0, bytes.length - 12);
    const whole = await serve(
      (_request, response) => void response.writeHead(200, { 'content-encoding': coding }).end(half),
    );
    const read = await viaPost(whole.url);
    expect(read.startsWith('done: ') && `done: ${TEXT}`.startsWith(read.replace(/\uFFFD+$/, ''))).toBe(true);

    const cut = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': coding });
      response.write(half, () => response.socket?.destroy());
    });
    expect(await viaPost(cut.url)).toBe('TypeError: terminated: UND_ERR_SOCKET');
    expect(await viaFetch(cut.url)).toBe('TypeError: terminated: UND_ERR_SOCKET');

    const garbage = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end(Buffer.alloc(100, 0xff));
    });
    expect(await viaPost(garbage.url)).toMatch(/^TypeError: terminated: /);
  },
);

test('each part of a compressed stream is read as it arrives', async () => {
  const { createGzip } = await import('node:zlib');
  const { url } = await serve((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const gzip = createGzip();
    gzip.pipe(response);
    gzip.write('first');
    gzip.flush();
  });
  const { body } = await post(url);
  for await (const chunk of body) {
    expect(Buffer.from(chunk).toString()).toBe('first');
    break;
  }
  body.cancel();
});

test('an abort before the answer, during a read and before the call is the reason of the signal', async () => {
  const { url } = await serve((request, response) => {
    if (request.url === '/begins') response.writeHead(200).write('first');
  });
  const reason = new Error('stopped');
  const early = new AbortController();
  early.abort(reason);
  await expect(post(url, { signal: early.signal })).rejects.toBe(reason);

  const waiting = new AbortController();
  const asked = post(url, { signal: waiting.signal });
  waiting.abort(reason);
  await expect(asked).rejects.toBe(reason);

  const reading = new AbortController();
  const { body } = await post(`${url}begins`, { signal: reading.signal });
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  const next = chunks.next();
  reading.abort(reason);
  await expect(next).rejects.toBe(reason);
});

test('cancel ends the connection, also while a read waits', async () => {
  for (const coding of ['identity', 'gzip', 'deflate', 'br']) {
    let closed = false;
    const { url } = await serve((_request, response) => {
      response.on('close', () => {
        closed = true;
      });
      response.writeHead(200, { 'content-encoding': coding }).flushHeaders();
    });
    const { body } = await post(url);
    const read = outcome(() => body[Symbol.asyncIterator]().next());
    body.cancel();
    await read;
    await expect.poll(() => closed).toBe(true);
  }
});

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n';
/** A server whose behaviour on a connection is scripted by the count of requests that this connection had. */
async function serveRaw(answer: (socket: Socket, nth: number) => void) {
  const state = { requests: 0, connections: 0, closed: 0 };
  const server = createTcpServer((socket) => {
    state.connections += 1;
    let nth = 0;
    socket
      .on('error', () => undefined)
      .on('close', () => {
        state.closed += 1;
      });
    socket.on('data', (data) => {
      if (!data.includes('POST ')) return;
      nth += 1;
      state.requests += 1;
      answer(socket, nth);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return { state, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

test.each([
  ['a request', viaPost],
  ['fetch', viaFetch],
])(
  '%s: a kept-alive connection that the server closed is not used again, and no call is sent twice',
  async (_name, via) => {
    const { state, server, url } = await serveRaw((socket) => socket.end(`${HEAD}\r\nok`));
    for (let call = 1; call <= 5; call += 1) {
      expect(await via(url)).toBe('done: ok');
      await expect.poll(() => state.closed).toBe(call);
      expect(state).toMatchObject({ requests: call, connections: call });
    }
    server.close();
  },
);

test.each([
  ['a request', viaPost],
  ['fetch', viaFetch],
])(
  '%s: a connection that closes as a further call arrives fails that call, which was sent once',
  async (_name, via) => {
    const { state, server, url } = await serveRaw((socket, nth) => {
      if (nth === 1) socket.write(`${HEAD}\r\nok`);
      else socket.destroy();
    });
    let calls = 0;
    let last = 'done: ok';
    // A call right after another one may open a second connection.
    while (last === 'done: ok' && calls < 20) {
      last = await via(url);
      calls += 1;
    }
    expect(last).toMatch(/^TypeError: fetch failed: (UND_ERR_SOCKET|ECONNRESET)$/);
    expect(calls).toBeGreaterThan(1);
    expect(state.requests).toBe(calls);
    server.close();
  },
);

test('headers keep Latin-1 values, and others are refused before anything is sent', async () => {
  const got: (string | undefined)[] = [];
  const { url } = await serve((request, response) => {
    got.push(request.headers.authorization);
    response.end('ok');
  });
  await post(url, { headers: { authorization: 'Bearer schlüssel' } });
  expect(got).toEqual(['Bearer schlüssel']);
  for (const value of ['Bearer ключ', 'Bearer a\r\nb: c', 'Bearer \u{1F511}'])
    await expect(post(url, { headers: { authorization: value } })).rejects.toThrow(TypeError);
  expect(got).toHaveLength(1);
});

test('answer headers have the bytes that came, as fetch gives them', async () => {
  const { server, url } = await serveRaw((socket) => socket.end(`${HEAD}x-name: ключ\r\nretry-after: 7\r\n\r\nok`));
  const { headers, body } = await post(url);
  const fetched = await fetch(url, { method: 'POST', body: 'x' });
  for (const name of ['x-name', 'retry-after', 'content-length'])
    expect(headers.get(name)).toBe(fetched.headers.get(name));
  expect(headers.get('retry-after')).toBe('7');
  expect(await textOf(body)).toBe('ok');
  server.close();
});

test('an address with credentials is refused as fetch refuses it, without them in the text', async () => {
  for (const address of ['http://user:hidden@127.0.0.1:1/', 'http://user@127.0.0.1:1/']) {
    const error = await post(address).catch((reason: Error) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain('hidden');
    await expect(fetch(address)).rejects.toThrow(TypeError);
  }
});

test('a status has its text, and a redirect is not followed', async () => {
  const { url } = await serve((_request, response) => {
    response.writeHead(302, 'Over There', { location: '/other' }).end();
  });
  const { status, statusText, headers, body } = await post(url);
  expect([status, statusText, headers.get('location')]).toEqual([302, 'Over There', '/other']);
  body.cancel();
});

test('a proxy of the environment is used exactly where fetch uses it', async () => {
  const direct = await serve((_request, response) => void response.end('direct'));
  const proxy = await serve((_request, response) => void response.end('proxied'));
  // A proxy of an http address may be asked by CONNECT too.
  proxy.server.on('connect', (_request, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.once('data', () => socket.end(`${HEAD.replace(': 2', ': 7')}\r\nproxied`));
  });
  vi.stubEnv('HTTP_PROXY', proxy.url);
  vi.stubEnv('http_proxy', proxy.url);
  vi.stubEnv('NO_PROXY', '');
  vi.stubEnv('no_proxy', '');
  const dispatcher = getGlobalDispatcher();
  const freshPost = async () => {
    vi.resetModules();
    const fresh = await import('../../src/platform/net/index.js');
    const { body } = await fresh.postToOperatorUrl(direct.url, {
      headers: {},
      body: 'x',
      signal: new AbortController().signal,
    });
    return textOf(body);
  };
  try {
    expect([await freshPost(), await viaFetch(direct.url)]).toEqual(['direct', 'done: direct']);
    // What Node does itself with NODE_USE_ENV_PROXY.
    setGlobalDispatcher(new EnvHttpProxyAgent());
    expect(await freshPost()).toBe('proxied');
  } finally {
    setGlobalDispatcher(dispatcher);
    vi.unstubAllEnvs();
    vi.resetModules();
  }
});
