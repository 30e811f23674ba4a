import { nearest } from './nearest.js';

/** True when `word` is probably a misspelling of `meant`. */
export function isNear(word: string, meant: string): boolean {
  return Math.abs(word.length - meant.length) <= 2 && nearest(word, [meant]) !== undefined;
}
