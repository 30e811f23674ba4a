/** The candidate that `word` is probably meant to be: at most a third of its letters, and at most two, are off. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const limit = Math.min(2, Math.max(1, Math.floor(word.length / 3)));
  let best: string | undefined;
  let least = limit + 1;
  for (const candidate of candidates) {
    const steps = distance(word.toLowerCase(), candidate.toLowerCase());
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** Edits, and swaps of neighbours, that turn one word into the other (optimal string alignment). */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const replaced = (above[j - 1] ?? 0) + same;
      const least = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced);
      row.push(swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least);
    }
    before = above;
    above = row;
  }
  return above[to.length] ?? 0;
}
