import { nearest } from './values/index.js';

/** A hint's sentence that names the known word nearest to a misspelled one; undefined when none is near. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  // Two edits at most, so nothing of another length is near.
  const candidates = [...known].filter(({ length }) => Math.abs(length - word.length) <= 2);
  const near = nearest(word, candidates);
  return near === undefined ? undefined : `Did you mean \`${near}\`?`;
}
