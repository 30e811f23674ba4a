import { Agent, createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { lingerAfterAnswers } from '../../src/api/serve.js';

test('a connection that serves many requests, each answered before its body has come, collects no listeners', async () => {
  const counts: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    sockets.add(incoming.socket);
    counts.push(incoming.socket.listenerCount('close'));
    outgoing.writeHead(503).end('busy');
  });
  lingerAfterAnswers(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => {
    agent.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (let index = 0; index < 12; index += 1) {
    await new Promise<void>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', method: 'POST', agent, headers: { 'content-length': 10 } });
      sent.on('response', (answer) => {
        answer.resume();
        // The rest of the body comes once the answer is there.
        sent.end('x'.repeat(9));
        answer.once('close', resolve);
      });
      sent.on('error', reject);
      sent.write('x');
    });
  }
  expect(sockets.size).toBe(1);
  expect(counts.at(-1)).toBe(counts[1]);
});
