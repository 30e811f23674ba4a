import { closest } from '../../shared/closest.js';

/** True when `word` is probably a misspelling of `meant`. */
export function isNear(word: string, meant: string): boolean {
  return closest(word, [meant]) !== undefined;
}
