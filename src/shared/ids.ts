import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * A new id: 10 characters of time (ms) and 16 random ones in Crockford's base 32, so ids sort by
 * creation. The shape is ULID's, in lower case (https://github.com/ulid/spec).
 */
export function newId(nowMs: number = Date.now()): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 10; i += 1) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (const byte of randomBytes(16)) random += ALPHABET.charAt(byte % 32);
  return time + random;
}

/** Names of workspaces, flows, agents, tools: lower-case words joined by single hyphens, 64 characters at most. */
export function isName(text: string): boolean {
  return text.length <= 64 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text);
}

/** A text folded to a name: marks dropped, lower case, every other run a hyphen. Empty when nothing is left. */
export function foldName(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');
}
