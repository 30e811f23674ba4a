import { didYouMean } from '../../shared/closest.js';

/** `` Did you mean `X`? `` as a further sentence of a message, or empty. */
export function suggestion(name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known);
  return hint === undefined ? '' : ` ${hint}`;
}
