import type { Readable } from 'node:stream';
import { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import { hasClientLeft } from './client-left.js';
import type { AppEnv } from './env.js';

/**
 * A stream of ours as the body of an answer; a client that leaves ends it. `Readable.toWeb` will not do: what it still
 * holds when the client leaves it hands on to a stream that is closed, and throws where nobody can catch it.
 */
export function bodyStream(c: Context<AppEnv>, stream: Readable): ReadableStream {
  return NodeReadableStream.from(cutWhenBroken(c, stream)) as ReadableStream;
}

/**
 * What breaks off while it is sent is logged, and the connection is cut, so that the client sees that the answer is not
 * whole. The server would print the error to stderr and send its text.
 */
async function* cutWhenBroken(c: Context<AppEnv>, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (err) {
    if (hasClientLeft(c)) c.var.log.debug({ err }, 'an answer was not sent whole, since the client has left');
    else c.var.log.error({ err }, 'an answer broke off');
    const { outgoing } = c.env ?? {};
    if (!outgoing) throw err;
    outgoing.destroy();
  }
}
