import { Readable } from 'node:stream';
import { Refusal } from '../../shared/refusal.js';
import { StorageUnavailable } from '../../shared/storage-unavailable.js';
import { DamagedBlob } from './blob-key.js';
import type { BlobStore } from './contract.js';

/** Turns every failure of the store into `StorageUnavailable`, which callers can handle. */
export function withStorageErrors(store: BlobStore): BlobStore {
  return {
    put: (bytes) => store.put(bytes).catch(rethrow),
    shaOf: (file) => store.shaOf(file).catch(rethrow),
    putFile: (file, sha) => store.putFile(file, sha).catch(rethrow),
    get: (sha) => store.get(sha).catch(rethrow),
    open: (sha) => store.open(sha).then((stream) => stream && wrapStream(stream), rethrow),
    has: (sha) => store.has(sha).catch(rethrow),
    delete: (sha) => store.delete(sha).catch(rethrow),
    list: () => wrapIterable(store.list()),
  };
}

/** A failure in the middle of the stream is converted as well. */
function wrapStream(stream: Readable): Readable {
  const wrapped = Readable.from(wrapIterable<Uint8Array>(stream), { objectMode: false });
  wrapped.once('close', () => stream.destroy());
  return wrapped;
}

async function* wrapIterable<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    throw toUnavailable(error);
  }
}

function rethrow(error: unknown): never {
  throw toUnavailable(error);
}

/** A damaged blob is a permanent fault, not an outage. */
function toUnavailable(error: unknown): Error {
  return error instanceof Refusal || error instanceof DamagedBlob ? error : new StorageUnavailable(error);
}
