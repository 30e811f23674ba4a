import { join } from 'node:path';
import type { Config } from '../config/index.js';
import type { BlobStore } from './contract.js';
import { createFileStore } from './file-store.js';
import { createS3Store } from './s3-store.js';
import { toldStore } from './with-storage-errors.js';

/** Where produced files live: an S3 bucket when one is configured, else the data folder. What does not answer is `StorageUnavailable`. */
export function createBlobStore(config: Pick<Config, 'dataDir' | 's3'>): BlobStore {
  return toldStore(config.s3 === null ? createFileStore(join(config.dataDir, 'blobs')) : createS3Store(config.s3));
}
