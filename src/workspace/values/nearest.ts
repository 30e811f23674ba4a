import { editDistance } from '../../shared/edit-distance.js';

/** The candidate that `word` is probably meant to be: at most a third of its letters, and at most two, are off. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const limit = Math.min(2, Math.max(1, Math.floor(word.length / 3)));
  let best: string | undefined;
  let least = limit + 1;
  for (const candidate of candidates) {
    const steps = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}
