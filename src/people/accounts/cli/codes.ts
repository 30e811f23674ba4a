import { randomCodeOf } from '../primitives.js';

/** Twenty consonants: codes form no words, and no two look alike (RFC 8628, 6.1). 34 bits. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

/** Format: `BCDF-GHJK`. */
export function newCliCode(): string {
  return `${randomCodeOf(4, LETTERS)}-${randomCodeOf(4, LETTERS)}`;
}

/** Normalizes a typed code: any case, with or without the hyphen. */
export function foldCliCode(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .replace(/^(.{4})(?=.)/, '$1-');
}
