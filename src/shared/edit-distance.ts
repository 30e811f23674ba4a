/** Edits, and swaps of neighbours, that turn one word into the other (optimal string alignment). Case counts. */
export function editDistance(from: string, to: string): number {
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
