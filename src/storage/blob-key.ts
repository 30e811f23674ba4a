import { createHash } from 'node:crypto';
import { Refusal } from '../shared/refusal.js';

/** The SHA-256 of the bytes in hex: a blob's key. */
export function blobSha(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** `ab/<sha>`: 256 folders, so that none grows too big to list. What is no SHA-256 in hex can be no key. */
export function blobKey(sha: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha)) throw new Refusal('malformed', 'a blob is named by its SHA-256: 64 hex digits');
  return `${sha.slice(0, 2)}/${sha}`;
}

/** The bytes, if they are those of the key: a store that was damaged or tampered with must not be believed. */
export function checkedBlob(sha: string, bytes: Uint8Array): Uint8Array {
  if (blobSha(bytes) === sha) return bytes;
  throw new Error(`the stored bytes of blob ${sha} are not its own: restore it from a backup of the blob store`);
}
