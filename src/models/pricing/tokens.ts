/** Estimates the tokens of a text: four characters each. Used where a provider reports no counts. */
export function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
