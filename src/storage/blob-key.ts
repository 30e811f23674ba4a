import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../shared/refusal.js';

/** The SHA-256 of the bytes in hex: a blob's key. */
export function blobSha(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The same of a file, which may be too large to hold. */
export async function fileSha(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

export function isSha(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** `ab/<sha>`: 256 folders, so that none grows too big to list. What is no SHA-256 in hex can be no key. */
export function blobKey(sha: string): string {
  if (!isSha(sha)) throw new Refusal('malformed', 'a blob is named by its SHA-256: 64 hex digits');
  return `${sha.slice(0, 2)}/${sha}`;
}

/** The bytes, if they are those of the key: a store that was damaged or tampered with must not be believed. */
export function checkedBlob(sha: string, bytes: Uint8Array): Uint8Array {
  if (blobSha(bytes) === sha) return bytes;
  throw notItsOwn(sha);
}

/** The same for bytes that are too many to hold: what is wrong with them is known at the end, and breaks it off. */
export function checkedStream(sha: string, bytes: Readable): Readable {
  const hash = createHash('sha256');
  const checked = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush: (done) => done(hash.digest('hex') === sha ? null : notItsOwn(sha)),
  });
  // Either end's failure ends the other; who reads is told by the stream itself.
  pipeline(bytes, checked).catch(() => undefined);
  return checked;
}

export class DamagedBlob extends Error {
  override readonly name = 'DamagedBlob';
}

function notItsOwn(sha: string): DamagedBlob {
  return new DamagedBlob(`the stored bytes of blob ${sha} are not its own: restore it from a backup of the blob store`);
}
