import { join } from 'node:path';
import type { Config } from '../config/index.js';
import type { BlobStore } from './contract.js';
import { createFileStore } from './file-store.js';
import { createS3Store } from './s3-store.js';
import { withStorageErrors } from './with-storage-errors.js';

/** The store of produced files: an S3 bucket when one is configured, else the data folder. Failures are `StorageUnavailable`. */
export function createBlobStore(config: Pick<Config, 'dataDir' | 's3'>): BlobStore {
  return withStorageErrors(
    config.s3 === null ? createFileStore(join(config.dataDir, 'blobs')) : createS3Store(config.s3),
  );
}
