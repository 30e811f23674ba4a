import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { InstallKey, InstallKeys } from '../platform/config/index.js';
import type { SecretPlace } from './model.js';

const CIPHER = 'aes-256-gcm';

const IV_BYTES = 12;

const TAG_BYTES = 16;

/** The place of the bytes, and the version of their value. */
export type SealedAt = SecretPlace & { readonly version: number };

export interface Envelope {
  readonly keyId: string;
  readonly wrappedKey: Uint8Array;
  readonly sealed: Uint8Array;
}

/** The envelope cannot be decrypted: its install key is missing, or its bytes were not sealed for this place. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/**
 * Seals a text under a data key of its own, and that key under the first install key. Both are AES-256-GCM with the
 * place and the version as additional data (NIST SP 800-38D), written as iv (12 bytes), tag (16), ciphertext.
 */
export function seal({ ring }: InstallKeys, at: SealedAt, text: string): Envelope {
  const [first] = ring;
  if (!first) throw new CannotOpen('there is no install key: set SERVICE_KEYS');
  const dataKey = randomBytes(32);
  return {
    keyId: first.id,
    wrappedKey: encrypt(wrapperOf(first), dataKey, at),
    sealed: encrypt(dataKey, Buffer.from(text, 'utf8'), at),
  };
}

/** Decrypts an envelope. Throws CannotOpen, whose message names the key or the secret but never its content. */
export function open(keys: InstallKeys, at: SealedAt, envelope: Envelope): string {
  return decrypt(unwrap(keys, at, envelope), envelope.sealed, at).toString('utf8');
}

/** Wraps the data key under the first install key again. The sealed bytes stay unchanged. */
export function rewrap(keys: InstallKeys, at: SealedAt, envelope: Envelope): Pick<Envelope, 'keyId' | 'wrappedKey'> {
  const [first] = keys.ring;
  if (!first) throw new CannotOpen('there is no install key: set SERVICE_KEYS');
  return { keyId: first.id, wrappedKey: encrypt(wrapperOf(first), unwrap(keys, at, envelope), at) };
}

function unwrap({ ring }: InstallKeys, at: SealedAt, { keyId, wrappedKey }: Envelope): Buffer {
  const key = ring.find(({ id }) => id === keyId);
  if (!key) {
    throw new CannotOpen(
      `the secret ${at.name} is wrapped under the install key "${keyId}", which is not there: put it back into SERVICE_KEYS`,
    );
  }
  return decrypt(wrapperOf(key), wrappedKey, at);
}

/** A separate key for this purpose, since tokens are derived from the same install key. */
function wrapperOf({ key }: InstallKey): Buffer {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), 'secret/v1', 32));
}

function encrypt(key: Buffer, plain: Buffer, at: SealedAt): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(additionalData(at));
  const bytes = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]);
}

function decrypt(key: Buffer, bytes: Uint8Array, at: SealedAt): Buffer {
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalData(at)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    throw new CannotOpen(
      `the secret ${at.name} cannot be decrypted: its row is damaged, or the install key of its id is another one; store it again`,
    );
  }
}

/** Each field is prefixed by its length, so that different places never encode alike. */
function additionalData({ tenant, workspace, name, version }: SealedAt): Buffer {
  const scope = workspace === null ? 'account' : `workspace:${workspace}`;
  return Buffer.concat(
    [tenant, scope, name, String(version)].flatMap((field) => {
      const bytes = Buffer.from(field, 'utf8');
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}

/**
 * The places of sealed values outside the vault. None can equal the place of a secret, whose name contains no `/` and
 * begins with no digit.
 */
export function clientPlace({ tenant, id }: { readonly tenant: string; readonly id: string }): SealedAt {
  return { tenant, workspace: null, name: `oauth-client/${id}`, version: 1 };
}

export function statePlace({ tenant, hash }: { readonly tenant: string; readonly hash: string }): SealedAt {
  return { tenant, workspace: null, name: `oauth-state/${hash}`, version: 1 };
}

/** The place of the live token for this version of a secret. */
export function tokenPlace({ id, version }: { readonly id: string; readonly version: number }): SealedAt {
  return { tenant: 'live-token', workspace: null, name: id, version };
}
