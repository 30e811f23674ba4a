import { segments } from '../text/segments.js';

/** Markdown without its HTML comments; those in code stay. */
export function withoutComments(markdown: string): string {
  if (!markdown.includes('<!--')) return markdown;
  return segments(markdown)
    .filter(({ kind }) => kind !== 'comment')
    .map(({ start, end }) => markdown.slice(start, end))
    .join('');
}
