import { randomCodeOf } from '../primitives.js';

/** Twenty consonants: no code is read as a word, none is mistaken for another (RFC 8628, 6.1). 34 bits. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

/** `BCDF-GHJK` */
export function newCliCode(): string {
  return `${randomCodeOf(4, LETTERS)}-${randomCodeOf(4, LETTERS)}`;
}

/** As a person may have typed it: in any case, with or without the hyphen. */
export function foldCliCode(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .replace(/^(.{4})(?=.)/, '$1-');
}
