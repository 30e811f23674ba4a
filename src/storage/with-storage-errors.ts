import { Readable } from 'node:stream';
import { Refusal } from '../shared/refusal.js';
import { StorageUnavailable } from '../shared/storage-unavailable.js';
import { DamagedBlob } from './blob-key.js';
import type { BlobStore } from './contract.js';

/** The store, whose failures callers can read: whatever keeps it from answering is one refusal. */
export function toldStore(store: BlobStore): BlobStore {
  return {
    put: (bytes) => store.put(bytes).catch(tell),
    shaOf: (file) => store.shaOf(file).catch(tell),
    putFile: (file, sha) => store.putFile(file, sha).catch(tell),
    get: (sha) => store.get(sha).catch(tell),
    open: (sha) => store.open(sha).then((stream) => stream && told(stream), tell),
    has: (sha) => store.has(sha).catch(tell),
    delete: (sha) => store.delete(sha).catch(tell),
    list: () => readOn(store.list()),
  };
}

/** What breaks off on the way is told as well. */
function told(stream: Readable): Readable {
  const said = Readable.from(readOn<Uint8Array>(stream), { objectMode: false });
  said.once('close', () => stream.destroy());
  return said;
}

async function* readOn<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    throw asTold(error);
  }
}

function tell(error: unknown): never {
  throw asTold(error);
}

/** A blob that is damaged is there, and stays damaged. */
function asTold(error: unknown): Error {
  return error instanceof Refusal || error instanceof DamagedBlob ? error : new StorageUnavailable(error);
}
