export { sha256Hex } from './blob-key.js';
export type { BlobStore } from './contract.js';
export { createBlobStore } from './create-blob-store.js';
export {
  endHolds,
  freeBlobs,
  type HeldBlob,
  holdBlob,
  KEPT_MS,
  lockBlobSql,
  orphanBlobs,
  releaseHolds,
  sweepBlobs,
  tryReleaseHolds,
  withHeldBlobs,
} from './held-blobs.js';
export { startBlobSweep } from './start-blob-sweep.js';
