import type { Readable } from 'node:stream';
import { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import { hasClientLeft } from './client-left.js';
import type { AppEnv } from './env.js';

/**
 * A Node stream as a response body; the stream is destroyed when the connection closes. `Readable.toWeb` does not work
 * here: after the client has left it enqueues what it still holds on a closed stream, and throws an uncaught exception.
 */
export function bodyStream(c: Context<AppEnv>, stream: Readable): ReadableStream {
  destroyOnClose(c, stream);
  return NodeReadableStream.from(cutWhenBroken(c, stream)) as ReadableStream;
}

/** Destroys a stream when the connection closes, even if nothing of it was read yet or its source is silent. */
export function destroyOnClose({ env }: Context<AppEnv>, stream: Readable): void {
  const { outgoing } = env ?? {};
  if (outgoing?.destroyed) stream.destroy();
  else outgoing?.once('close', () => stream.destroy());
}

/**
 * Logs a stream that fails while it is sent and cuts the connection, so that the client sees an incomplete response.
 * The server itself would print the error to stderr and send its text.
 */
async function* cutWhenBroken(c: Context<AppEnv>, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (err) {
    if (hasClientLeft(c)) c.var.log.debug({ err }, 'an answer was not sent whole, since the client has left');
    else c.var.log.error({ err }, 'failed to send a response body');
    const { outgoing } = c.env ?? {};
    if (!outgoing) throw err;
    outgoing.destroy();
  }
}
