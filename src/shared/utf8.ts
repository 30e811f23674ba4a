import { isUtf8 } from 'node:buffer';

/** Bytes as text, a byte order mark included; null when they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  return isUtf8(bytes) ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) : null;
}
