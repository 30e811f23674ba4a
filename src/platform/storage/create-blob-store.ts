import { createReadStream } from 'node:fs';
import { access, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import { StorageUnavailable } from '../../shared/storage-unavailable.js';
import type { Config } from '../config/index.js';
import { blobKey, checkedBlob, checkedStream, DamagedBlob, isSha, sha256Hex, sha256OfFile } from './blob-key.js';
import type { BlobStore } from './contract.js';
import { createS3Store } from './s3-store.js';

/**
 * The store of produced files: an S3 bucket when one is configured, else the data folder. Failures are
 * `StorageUnavailable`.
 */
export function createBlobStore(config: Pick<Config, 'dataDir' | 's3'>): BlobStore {
  return withStorageErrors(
    config.s3 === null ? createFileStore(join(config.dataDir, 'blobs')) : createS3Store(config.s3),
  );
}

/** Turns every failure of the store into `StorageUnavailable`, which callers can handle. */
function withStorageErrors(store: BlobStore): BlobStore {
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

/** Blobs as files `<root>/ab/<sha>`. A blob is either complete and synced, or absent. */
function createFileStore(root: string): BlobStore {
  const pathOf = (sha: string) => join(root, blobKey(sha));
  const has = (sha: string) =>
    access(pathOf(sha)).then(
      () => true,
      () => false,
    );
  return {
    put: async (bytes) => {
      const sha = sha256Hex(bytes);
      if (!(await has(sha))) await writeWhole(pathOf(sha), bytes);
      return sha;
    },
    shaOf: sha256OfFile,
    putFile: async (file, sha) => {
      if (!(await has(sha))) await writeWhole(pathOf(sha), checkedStream(sha, createReadStream(file)));
    },
    get: async (sha) => {
      const bytes = await readFile(pathOf(sha)).catch(unlessMissing);
      return bytes && checkedBlob(sha, bytes);
    },
    open: async (sha) => {
      const file = await open(pathOf(sha), 'r').catch(unlessMissing);
      return file && checkedStream(sha, file.createReadStream());
    },
    has,
    delete: (sha) => rm(pathOf(sha), { force: true }),
    list: () => listFiles(root),
  };
}

async function* listFiles(root: string): AsyncGenerator<string> {
  const folders = (await readdir(root).catch(unlessMissing)) ?? [];
  for (const folder of folders) {
    const names = (await readdir(join(root, folder)).catch(unlessMissing)) ?? [];
    // Files that are still being written have temporary names.
    yield* names.filter(isSha);
  }
}

/** Writes and syncs a temporary file, renames it, then syncs the folder, which holds the name. */
async function writeWhole(path: string, bytes: Uint8Array | Readable): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${newId()}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeSynced(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const directory = await open(folder, 'r');
  await directory.sync().finally(() => directory.close());
}

async function writeSynced(path: string, bytes: Uint8Array | Readable): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    if (bytes instanceof Uint8Array) await file.writeFile(bytes);
    else for await (const part of bytes) await file.appendFile(part);
    await file.sync();
  } finally {
    await file.close();
  }
}

function unlessMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
