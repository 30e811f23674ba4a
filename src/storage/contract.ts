import type { Readable } from 'node:stream';

/** Bytes by content. A blob's key is its SHA-256 in hex; equal bytes are stored once. */
export interface BlobStore {
  /** Stores the bytes and answers their SHA-256. */
  put(bytes: Uint8Array): Promise<string>;
  /** The key that a file's bytes have, or would have. */
  shaOf(file: string): Promise<string>;
  /** Stores a file's bytes, which have this key; never all of them in memory. Throws when they have another. */
  putFile(file: string, sha: string): Promise<void>;
  /** Null when there is no such blob. */
  get(sha: string): Promise<Uint8Array | null>;
  /** The bytes as a stream, checked on the way: one that is not what it should be ends with an error. Null when there is none. */
  open(sha: string): Promise<Readable | null>;
  has(sha: string): Promise<boolean>;
  delete(sha: string): Promise<void>;
  /** The keys of all blobs that are whole, in no order. */
  list(): AsyncIterable<string>;
}
