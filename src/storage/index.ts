export { blobSha } from './blob-key.js';
export type { BlobStore } from './contract.js';
export { createBlobStore } from './create-blob-store.js';
export {
  freeBlobs,
  giveUpHeld,
  type HeldBlob,
  holdBlob,
  holding,
  KEPT_MS,
  nameHeld,
  releaseHeld,
  strayBlobs,
  sweepBlobs,
  takeHeld,
} from './held-blobs.js';
export { startBlobSweep } from './start-blob-sweep.js';
