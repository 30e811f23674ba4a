/** Longer words are not misspellings, and their distance is costly. */
const LONGEST = 64;

/**
 * The candidate that `word` probably means: at most a third of its letters, and at most two, differ. Case does not
 * count.
 */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined;
  const limit = Math.min(2, Math.max(1, Math.floor(word.length / 3)));
  let best: string | undefined;
  let least = limit + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const steps = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** Edits, and swaps of neighbours, that turn one word into the other (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const least = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + same);
      row.push(swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least);
    }
    [before, above] = [above, row];
  }
  return above[to.length] ?? 0;
}

/** `` Did you mean `X`? ``; undefined when no known word is close. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const meant = closest(word, known);
  return meant === undefined ? undefined : `Did you mean \`${meant}\`?`;
}
