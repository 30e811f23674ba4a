import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { expect, test } from 'vitest';
import { sendFile } from '../../src/api/send-file.js';
import { silentLog } from '../support/silent-log.js';

/** A store that says nothing: no byte and no end. */
const silent = () => new Readable({ read: () => undefined });

function request(outgoing: EventEmitter & { destroyed: boolean }, range?: string): Context {
  return {
    req: { method: 'GET', header: (name: string) => (name === 'range' ? range : undefined) },
    env: { incoming: { socket: {} }, outgoing },
    var: { log: silentLog },
  } as unknown as Context;
}

test.each([undefined, 'bytes=2-5'])(
  'a client that leaves ends the file’s stream, read or not, begun or silent; range: %s',
  async (range) => {
    for (const isRead of [false, true]) {
      const content = silent();
      const outgoing = Object.assign(new EventEmitter(), { destroyed: false });
      const file = { name: 'a', size: 10, sha: 'x', open: async () => content };
      const response = await sendFile(request(outgoing, range), file);
      const reading = isRead
        ? response.body
            ?.getReader()
            .read()
            .catch(() => undefined)
        : undefined;
      await new Promise((resolve) => setImmediate(resolve));
      expect(content.destroyed).toBe(false);
      outgoing.destroyed = true;
      outgoing.emit('close');
      expect(content.destroyed).toBe(true);
      await reading;
    }
  },
);

test('a client that left while the file was opened leaves no stream open', async () => {
  const content = silent();
  const outgoing = Object.assign(new EventEmitter(), { destroyed: false });
  const open = async () => {
    outgoing.destroyed = true;
    return content;
  };
  await sendFile(request(outgoing), { name: 'a', size: 10, sha: 'x', open });
  expect(content.destroyed).toBe(true);
});
