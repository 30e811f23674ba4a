import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** HMAC-SHA256 (RFC 2104) over the parts, one after the other. */
export function hmacSha256(key: string | Uint8Array, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Derives a separate key for each purpose from an install key (HKDF, RFC 5869). */
export function deriveKey(installKey: Uint8Array, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', installKey, new Uint8Array(0), label, 32));
}

/** True for the same bytes; in constant time for a given length. */
export function isSameMac(wanted: Uint8Array, given: Uint8Array | null): boolean {
  return given !== null && given.length === wanted.length && timingSafeEqual(given, wanted);
}
