import { editDistance } from '../shared/edit-distance.js';

/** The message for an unknown key: the one that was probably meant, or all that exist. */
export function unknownKey(key: string, known: readonly string[]): string {
  if (known.length === 0) return 'unknown key';
  const meant = closest(key, known);
  return `unknown key; ${meant === undefined ? `it may be: ${known.join(', ')}` : `did you mean "${meant}"?`}`;
}

/** The closest known word, if it is close enough for a typo. */
function closest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}
