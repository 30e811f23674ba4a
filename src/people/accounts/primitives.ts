import { Buffer } from 'node:buffer';
import { alphabet, constantTimeEqual, generateRandomString } from 'oslo/crypto';
import { Argon2id } from 'oslo/password';

/**
 * The only module that uses oslo, which is discontinued, so that a replacement changes this file only. Argon2id with
 * OWASP's first recommendation: 19 MiB, two passes, one lane. It runs on libuv's threads.
 */
export const argon2id = new Argon2id({ memorySize: 19_456, iterations: 2, parallelism: 1 });

/** A code of letters and digits from a secure random source. 32 characters have 190 bits. */
export function randomCode(length: number): string {
  return generateRandomString(length, alphabet('a-z', 'A-Z', '0-9'));
}

/** Like `randomCode`, with these characters. */
export function randomCodeOf(length: number, characters: string): string {
  return generateRandomString(length, characters);
}

/** Compares two texts in a time that depends only on their lengths. */
export function equalSecrets(a: string, b: string): boolean {
  return constantTimeEqual(Buffer.from(a), Buffer.from(b));
}

export { TimeSpan } from 'oslo';
export { CookieController } from 'oslo/cookie';
export { verifyRequestOrigin } from 'oslo/request';
