import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../../src/platform/embedded/free-port.js';

test('a free port can be listened on, and is none that an outgoing connection could be given meanwhile', async () => {
  for (let n = 0; n < 20; n += 1) {
    const port = await freePort();
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});
