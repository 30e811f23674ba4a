import type { Readable } from 'node:stream';

/** Stores bytes by their content. A blob's key is its SHA-256 in hex; equal bytes are stored once. */
export interface BlobStore {
  /** Stores the bytes and returns their SHA-256. */
  put(bytes: Uint8Array): Promise<string>;
  /** The key that a file's bytes have, or would have. */
  shaOf(file: string): Promise<string>;
  /** Streams a file into the store under this key. Throws when its hash differs from the key. */
  putFile(file: string, sha: string): Promise<void>;
  /** Null when the blob does not exist. */
  get(sha: string): Promise<Uint8Array | null>;
  /** The bytes as a stream. It ends with DamagedBlob if the hash differs. Null when the blob does not exist. */
  open(sha: string): Promise<Readable | null>;
  has(sha: string): Promise<boolean>;
  delete(sha: string): Promise<void>;
  /** The keys of all complete blobs, in no order. */
  list(): AsyncIterable<string>;
}
