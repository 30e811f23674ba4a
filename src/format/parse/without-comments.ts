import { segments } from '../text/segments.js';

/** Removes HTML comments from markdown, except in code. */
export function withoutComments(markdown: string): string {
  if (!markdown.includes('<!--')) return markdown;
  return segments(markdown)
    .filter(({ kind }) => kind !== 'comment')
    .map(({ start, end }) => markdown.slice(start, end))
    .join('');
}
