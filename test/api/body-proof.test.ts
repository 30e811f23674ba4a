import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { routes } from '../../src/api/routes/index.js';
import { type ApiServer, serveApi } from '../../src/api/serve.js';
import { startHook } from '../support/hooks.js';
import { createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

const MIB = 1024 * 1024;
const WRONG = { authorization: 'Bearer nothing' };
const run = promisify(execFile);

let app: WorkspaceApp;
let server: ApiServer;
let hookUrl = '';
beforeAll(async () => {
  app = await createWorkspaceApp({ routes, config: { port: 0 } });
  server = await serveApi(app.deps, createApp(app.deps, routes));
  ({ hookUrl } = await startHook(app, 'trigger: webhook'));
});
afterAll(() => server.close());

const wrongToken = () => hookUrl.replace(/token=.*/, 'token=nothing');
const inbox = (url: string) => url.replace('/api/hooks/', '/api/inbox/');
const push = () => `/api/git/${app.tenant}/none`;

/** Sends the head of a request whose body has 20 MiB, and 1 KiB of that: all that comes back. */
async function begin(
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ socket: Socket; status: number }> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const lines = Object.entries({ host: 'x', 'content-length': String(20 * MIB), ...headers });
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  socket.write('x'.repeat(1024));
  socket.on('error', () => undefined);
  const [head] = (await once(socket, 'data')) as [Buffer];
  return { socket, status: Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString())?.[1]) };
}

describe('the proof is checked before the body is taken', () => {
  test.each<[string, () => string, Record<string, string>, number]>([
    ['a wrong key', () => '/api/workspaces', { ...WRONG, 'content-type': 'application/json' }, 401],
    ['no credential', () => '/api/workspaces', { 'content-type': 'application/json' }, 401],
    ['a session that has ended', () => '/api/workspaces', { cookie: 'signalbox_session=nothing' }, 401],
    ['a hook’s wrong token', wrongToken, {}, 401],
    ['an inbox’s wrong token', () => inbox(wrongToken()), { 'content-type': 'message/rfc822' }, 401],
    ['a release address’s wrong token', () => `/api/events/${app.tenant}/x/none?token=nothing`, {}, 401],
    ['a link’s wrong token', () => `/api/approve/${app.tenant}/x/none?token=nothing`, {}, 401],
    ['a code host’s wrong token', push, { 'x-gitlab-token': 'nothing', 'x-gitlab-event': 'Push Hook' }, 401],
    ['a code host’s push without a proof', push, { 'x-github-event': 'push' }, 401],
    ['a git push with a wrong key', () => `/git/${app.tenant}/none.git/git-receive-pack`, {}, 401],
    ['a body over the limit of sign-in', () => '/api/auth/login', { 'content-type': 'application/json' }, 413],
    ['a body over the limit of a hook', () => hookUrl, {}, 413],
    ['a type that is not taken', () => '/api/workspaces', { 'content-type': 'text/plain' }, 415],
    [
      'a coding that is not taken',
      () => '/api/workspaces',
      { 'content-type': 'application/json', 'content-encoding': 'br' },
      415,
    ],
  ])('%s', async (_name, path, headers, status) => {
    const isKnown = status !== 401;
    const { socket, ...answer } = await begin(path(), {
      ...(isKnown && { authorization: `Bearer ${app.key}` }),
      ...headers,
    });
    expect(answer.status).toBe(status);
    // What is never sent does not hold the connection.
    if (!socket.closed) await once(socket, 'close');
  });

  test('a flood of wrong tokens takes no body, and each connection ends', async () => {
    const all = await Promise.all(
      Array.from({ length: 100 }, () => begin(inbox(wrongToken()), { 'content-type': 'message/rfc822' })),
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([401]));
    await Promise.all(all.map(({ socket }) => socket.closed || once(socket, 'close')));
  });
});

const CLIENTS: readonly [string, (url: string, headers: Record<string, string>, bytes: number) => Promise<number>][] = [
  [
    'fetch',
    async (url, headers, bytes) => {
      const response = await fetch(url, { method: 'POST', headers, body: Buffer.alloc(bytes, ' ') });
      await response.json();
      return response.status;
    },
  ],
  [
    'fetch with a stream',
    async (url, headers, bytes) => {
      let left = bytes;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.enqueue(new Uint8Array(65_536));
          left -= 65_536;
          if (left <= 0) controller.close();
        },
      });
      const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
      await response.json();
      return response.status;
    },
  ],
  ['curl', (url, headers, bytes) => curl(url, headers, bytes)],
  ['curl that does not wait', (url, headers, bytes) => curl(url, { ...headers, Expect: '' }, bytes)],
  [
    'a client that reads only when all is sent',
    async (url, headers, bytes) => {
      const { hostname, port, pathname, search } = new URL(url);
      const socket = connect(Number(port), hostname);
      const lines = Object.entries({ host: 'x', 'content-length': String(bytes), ...headers });
      socket.write(`POST ${pathname}${search} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`);
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject);
        socket.pause();
        socket.write(Buffer.alloc(bytes, ' '), () => resolve());
      });
      const answered = once(socket, 'data');
      socket.resume();
      const [head] = (await answered) as [Buffer];
      socket.destroy();
      return Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString())?.[1]);
    },
  ],
];

async function curl(url: string, headers: Record<string, string>, bytes: number): Promise<number> {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const process = run('curl', ['-sS', '-o', '/dev/null', '-w', '%{http_code}', ...given, '--data-binary', '@-', url]);
  // curl stops reading once it is answered.
  process.child.stdin?.on('error', () => undefined);
  process.child.stdin?.end(Buffer.alloc(bytes, ' '));
  return Number((await process).stdout);
}

describe.each(CLIENTS)('%s reads', (_name, send) => {
  const json = { 'content-type': 'application/json' };

  test('a 401 and a 413 of a large body, each time', async () => {
    const good = { ...json, authorization: `Bearer ${app.key}` };
    for (let round = 0; round < 3; round += 1) {
      expect(await send(`${server.url}/api/workspaces`, { ...json, ...WRONG }, 24 * MIB)).toBe(401);
      expect(await send(`${server.url}${inbox(wrongToken())}`, json, 24 * MIB)).toBe(401);
      expect(await send(`${server.url}/api/keys`, good, 24 * MIB)).toBe(413);
    }
  });

  test('what a body of two MiB was answered', async () => {
    const good = { ...json, authorization: `Bearer ${app.key}` };
    expect(await send(`${server.url}/api/workspaces`, good, 2 * MIB)).toBe(400);
  });
});

test('the bodies of signed pushes that nothing has proven share a limit', async () => {
  const signed = {
    'x-github-event': 'push',
    'x-hub-signature-256': `sha256=${createHmac('sha256', 'x').digest('hex')}`,
  };
  const sockets: Socket[] = [];
  const statuses: number[] = [];
  for (let at = 0; at < 4; at += 1) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (head: Buffer) => statuses.push(Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString())?.[1])));
    const lines = Object.entries({ host: 'x', 'content-length': String(24 * MIB), ...signed });
    socket.write(`POST ${push()} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    socket.write(Buffer.alloc(20 * MIB));
  }
  await expect.poll(() => statuses).toEqual([503]);
  for (const socket of sockets) socket.destroy();
});
