import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../../shared/refusal.js';

/** The SHA-256 of the bytes in hex: a blob's key. */
export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The same for a file, which may be too large for memory. */
export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

export function isSha(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** `ab/<sha>`: 256 folders, so that none gets too large to list. Throws for a text that is not a SHA-256 in hex. */
export function blobKey(sha: string): string {
  if (!isSha(sha)) throw new Refusal('malformed', 'a blob is named by its SHA-256: 64 hex digits');
  return `${sha.slice(0, 2)}/${sha}`;
}

/** Returns the bytes if they have this hash. Throws DamagedBlob otherwise: the store was damaged or tampered with. */
export function checkedBlob(sha: string, bytes: Uint8Array): Uint8Array {
  if (sha256Hex(bytes) === sha) return bytes;
  throw damaged(sha);
}

/** The same for a stream, which fails at its end with DamagedBlob if the hash differs. */
export function checkedStream(sha: string, bytes: Readable): Readable {
  const hash = createHash('sha256');
  const checked = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush: (done) => done(hash.digest('hex') === sha ? null : damaged(sha)),
  });
  // A failure of one stream destroys the other. The reader gets the error from the stream it reads.
  pipeline(bytes, checked).catch(() => undefined);
  return checked;
}

export class DamagedBlob extends Error {
  override readonly name = 'DamagedBlob';
}

function damaged(sha: string): DamagedBlob {
  return new DamagedBlob(`the stored bytes of blob ${sha} are not its own: restore it from a backup of the blob store`);
}
