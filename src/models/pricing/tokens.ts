/** Tokens of a text, roughly: four characters each. Where a provider tells counts, theirs are used. */
export function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
