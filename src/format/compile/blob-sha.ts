import { createHash } from 'node:crypto';

/** The git object id of a file's bytes, by which its blob is stored. */
export function gitBlobId(content: Uint8Array): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}
