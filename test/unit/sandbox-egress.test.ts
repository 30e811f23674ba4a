import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createNet, type Net } from '../../src/platform/net/index.js';
import { DEFAULT_LIMITS } from '../../src/sandbox/limits.js';
import { openEgressProxy } from '../../src/sandbox/network/egress-proxy.js';

async function proxy(net: Net, hosts: readonly string[], connections = 4) {
  const root = await mkdtemp(join(tmpdir(), 'egress-'));
  const { socket, close, use } = await openEgressProxy({
    grant: { hosts },
    net,
    folder: join(root, 'net'),
    uid: null,
    limits: { ...DEFAULT_LIMITS, connections },
  });
  onTestFinished(async () => {
    await close();
    await rm(root, { recursive: true });
  });
  const ask = (url: string) =>
    // What is cut has an error more than anybody waits for.
    request({ socketPath: socket, path: url, headers: { host: new URL(url).host } }).on('error', () => undefined);
  return { ask, use };
}

const local = createNet({ config: { allowHosts: [{ host: '127.0.0.1', port: null }], version: '1' } });

test('security 22: an answer that cannot be passed on ends its request, and not the worker', async () => {
  const answers = ['HTTP/1.1 007 x', 'HTTP/1.1 000 x', 'HTTP/1.1 099 x', 'HTTP/1.1 101 x\r\nupgrade: x', 'no HTTP'];
  let next = 0;
  const server = createServer((client) => {
    client.on('error', () => client.destroy());
    client.once('data', () => client.end(`${answers[next++]}\r\nconnection: upgrade\r\ncontent-length: 0\r\n\r\n`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { ask } = await proxy(local, [host]);
  for (const answer of answers) {
    const sent = ask(`http://${host}/`).end();
    const [response] = await once(sent, 'response');
    expect([answer, response.statusCode]).toEqual([answer, 502]);
    response.resume();
  }
});

test('security 22: who asks and leaves before there is a connection leaves none, and not more than may be are made', async () => {
  const server = createServer((client) => client.resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const waiting: (() => Promise<Socket>)[] = [];
  let asked: () => void = () => undefined;
  const slow: Net = {
    ...local,
    connect: () =>
      new Promise((resolve) => {
        waiting.push(async () => {
          const socket = connect(port, '127.0.0.1');
          await once(socket, 'connect');
          resolve({ kind: 'connected', socket });
          return socket;
        });
        asked();
      }),
  };
  const { ask, use } = await proxy(slow, ['good.test'], 3);
  for (let nth = 0; nth < 3; nth += 1) {
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const sent = ask('http://good.test/');
    sent.end();
    await isAsked;
    sent.destroy();
    await new Promise((resolve) => sent.once('close', resolve));
  }
  // Until the proxy has heard that the others have left it takes nobody else in.
  const again = async (): Promise<IncomingMessage> => {
    const [answer] = await once(ask('http://good.test/').end(), 'response').catch(() => []);
    return answer ?? again();
  };
  const answer = await again();
  expect(answer.statusCode).toBe(403);
  answer.resume();
  expect(use().refused).toEqual([{ host: 'good.test:80', why: 'the program makes more than 3 connections at once' }]);
  const sockets = await Promise.all(waiting.map((connected) => connected()));
  await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
  expect(waiting).toHaveLength(3);
});
