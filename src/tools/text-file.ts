import { decodeIn } from '../shared/charset.js';

/** The text of bytes in UTF-8, or else in this charset, without a byte order mark; null when they are not text. */
export function decodeText(bytes: Uint8Array, charset: string | null = null): string | null {
  const text = decodeIn(bytes, charset);
  return text?.includes('\0') ? null : text;
}
