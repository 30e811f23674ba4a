import { createHash } from 'node:crypto';

/** The git object id of a blob: SHA-1 of `blob <length>\0<bytes>`, in hex. The `sha` of every source file. */
export function blobId(content: Uint8Array): string {
  return createHash('sha1').update(`blob ${content.byteLength}\0`).update(content).digest('hex');
}
