import type { Readable } from 'node:stream';
import { ReadableStream as NodeReadableStream } from 'node:stream/web';

/**
 * A stream of ours as the body of an answer; a client that leaves ends it. `Readable.toWeb` will not do: what it still
 * holds when the client leaves it hands on to a stream that is closed, and throws where nobody can catch it.
 */
export function bodyStream(stream: Readable): ReadableStream {
  return NodeReadableStream.from(stream) as ReadableStream;
}
