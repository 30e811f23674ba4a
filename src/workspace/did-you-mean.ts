import { nearest } from './values/index.js';

/** A hint's sentence that names the known word nearest to a misspelled one; undefined when none is near. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const near = nearest(word, [...known]);
  return near === undefined ? undefined : `Did you mean \`${near}\`?`;
}
