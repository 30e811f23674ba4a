/** Bytes by content. A blob's key is its SHA-256 in hex; equal bytes are stored once. */
export interface BlobStore {
  /** Stores the bytes and answers their SHA-256. */
  put(bytes: Uint8Array): Promise<string>;
  /** Null when there is no such blob. */
  get(sha: string): Promise<Uint8Array | null>;
  has(sha: string): Promise<boolean>;
  delete(sha: string): Promise<void>;
}
