import { Buffer } from 'node:buffer';
import { alphabet, constantTimeEqual, generateRandomString } from 'oslo/crypto';
import { Argon2id } from 'oslo/password';

/**
 * All that we use of oslo, which its author has retired: its successor is a change of this file alone.
 * Argon2id with OWASP's first choice of parameters: 19 MiB, two passes, one lane. It works on libuv's threads.
 */
export const argon2id = new Argon2id({ memorySize: 19_456, iterations: 2, parallelism: 1 });

/** A code of letters and digits, each from the system's secure source. 32 characters are 190 bits. */
export function randomCode(length: number): string {
  return generateRandomString(length, alphabet('a-z', 'A-Z', '0-9'));
}

/** As `randomCode`, of these characters. */
export function randomCodeOf(length: number, characters: string): string {
  return generateRandomString(length, characters);
}

/** Compares two texts in a time that depends on their lengths only. */
export function equalSecrets(a: string, b: string): boolean {
  return constantTimeEqual(Buffer.from(a), Buffer.from(b));
}

export { TimeSpan } from 'oslo';
export { CookieController } from 'oslo/cookie';
export { verifyRequestOrigin } from 'oslo/request';
