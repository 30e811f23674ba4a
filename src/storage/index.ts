export type { BlobStore } from './contract.js';
export { createBlobStore } from './create-blob-store.js';
