import { editDistance } from '../../shared/edit-distance.js';

/** The known name closest to a mistyped one; undefined when none is near. */
function closest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** ` Did you mean X?`, or empty. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = closest(name, known);
  return near === undefined ? '' : ` Did you mean \`${near}\`?`;
}
