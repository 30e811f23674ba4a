import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { randomCode } from './primitives.js';

/** `sbx_<prefix>_<secret><checksum>`: 8, 40 and 6 characters of letters and digits. */
const FORM = /^sbx_([a-zA-Z0-9]{8})_([a-zA-Z0-9]{40})([a-zA-Z0-9]{6})$/;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface NewKey {
  readonly key: string;
  /** Stored in the clear: finds the row and identifies the key for people. */
  readonly prefix: string;
  readonly hash: string;
}

export function newKey(): NewKey {
  const prefix = randomCode(8);
  const body = `sbx_${prefix}_${randomCode(40)}`;
  const key = body + checksum(body);
  return { key, prefix, hash: hashKey(key) };
}

/** The prefix of a well-formed key; undefined for anything else, so that a typo causes no query. */
export function prefixOf(key: string): string | undefined {
  const [, prefix, , sum] = FORM.exec(key) ?? [];
  return sum !== undefined && sum === checksum(key.slice(0, -sum.length)) ? prefix : undefined;
}

/** SHA-256 in hex. A key has 238 random bits, so a slow hash would add nothing. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** CRC-32 in six digits of base 62, like in GitHub's tokens, so that scanners and people detect a mistyped key. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i += 1) {
    digits = DIGITS.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
