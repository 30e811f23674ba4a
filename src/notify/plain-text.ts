/** Reduces a name to one line without control characters, so that it cannot start a header or a paragraph of a mail. */
export function plainText(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200);
}
