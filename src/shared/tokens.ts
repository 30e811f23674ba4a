import { deriveKey, hmacSha256, isSameMac } from './hmac.js';

/** One label for each purpose, so that a token of one can never serve another. */
export type TokenPurpose = 'hook' | 'event' | 'approve' | 'approve-form' | 'cli-authorize';

/**
 * A derived token: base64url(HMAC-SHA256(HKDF(installKey, "<purpose>/v1"), length-prefixed fields)), 43 characters.
 * Never stored; a new install key invalidates all of them. RFC 5869 for HKDF, RFC 2104 for HMAC.
 */
export function deriveToken(installKey: Uint8Array, purpose: TokenPurpose, fields: readonly string[]): string {
  const parts = fields.flatMap((field) => {
    const bytes = Buffer.from(field, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return hmacSha256(deriveKey(installKey, `${purpose}/v1`), ...parts).toString('base64url');
}

/**
 * True when the token matches the fields; in constant time for a given length. Only the first install key counts: once a
 * new key is first, the old one, which may have leaked, validates no link.
 */
export function checkToken(
  installKey: Uint8Array,
  purpose: TokenPurpose,
  fields: readonly string[],
  token: string,
): boolean {
  return isSameMac(Buffer.from(deriveToken(installKey, purpose, fields)), Buffer.from(token));
}
