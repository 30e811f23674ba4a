import { closest } from '../shared/closest.js';

/** The message for an unknown key: the one that was probably meant, or all that exist. */
export function unknownKey(key: string, known: readonly string[]): string {
  if (known.length === 0) return 'unknown key';
  const meant = closest(key, known);
  return `unknown key; ${meant === undefined ? `it may be: ${known.join(', ')}` : `did you mean "${meant}"?`}`;
}
