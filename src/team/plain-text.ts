/** One line without control characters, so that a name can begin neither a header nor a paragraph of a mail. */
export function plainText(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200);
}
