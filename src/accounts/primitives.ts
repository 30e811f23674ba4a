import { Buffer } from 'node:buffer';
import { alphabet, constantTimeEqual, generateRandomString } from 'oslo/crypto';
import { Argon2id } from 'oslo/password';

/**
 * All that we use of oslo, which its author has retired: its successor is a change of this file alone.
 * Argon2id with OWASP's first choice of parameters: 19 MiB, two passes, one lane.
 */
const argon2id = new Argon2id({ memorySize: 19_456, iterations: 2, parallelism: 1 });

export function hashPassword(password: string): Promise<string> {
  return argon2id.hash(password);
}

/** A code of letters and digits, each from the system's secure source. 32 characters are 190 bits. */
export function randomCode(length: number): string {
  return generateRandomString(length, alphabet('a-z', 'A-Z', '0-9'));
}

/** Compares two texts in a time that depends on their lengths only. */
export function equalSecrets(a: string, b: string): boolean {
  return constantTimeEqual(Buffer.from(a), Buffer.from(b));
}

export { verifyRequestOrigin } from 'oslo/request';
