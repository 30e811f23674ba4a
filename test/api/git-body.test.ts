import { once } from 'node:events';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { bodyOf } from '../../src/api/routes/git.js';

type Env = { Bindings: { incoming: Readable } };

test.each([
  ['before the whole body', 100_000],
  ['after the whole body', 3],
])('a client that left %s, while its key was checked, ends the reading of its body', async (_when, length) => {
  let ended: (error: unknown) => void = () => undefined;
  const reading = new Promise<unknown>((resolve) => {
    ended = resolve;
  });
  const app = new Hono<Env>();
  app.post('/', async (c) => {
    client.destroy();
    await new Promise((resolve) => c.env.incoming.once('close', resolve));
    try {
      for await (const _ of bodyOf(c as never).body) void _;
      ended(null);
    } catch (error) {
      ended(error);
    }
    return c.text('');
  });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect(port, '127.0.0.1');
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nabc`);
  expect(await reading).toMatchObject({ message: 'the client has left' });
  server.close();
});
