import { checkIgnoredKeys } from './ignored/check-ignored-keys.js';
import { KNOWLEDGE_KEYS, MEMORY_KEYS } from './keys/document-keys.js';
import { toPlainText } from './markdown.js';
import type { OpenFile } from './open-file.js';
import { readKeys } from './read-keys.js';

/** A file of knowledge/ or memory/. */
export interface ReadDocument {
  readonly kind: 'document';
  readonly title: string;
  readonly description: string;
  /** The texts of its headings, which links name after `#`. */
  readonly headings: readonly string[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;

export function readDocument(file: OpenFile, name: string, kind: 'knowledge' | 'memory'): ReadDocument {
  const table = kind === 'knowledge' ? KNOWLEDGE_KEYS : MEMORY_KEYS;
  const { values } = readKeys(file, table, { node: file.node, kind: 'document' });
  // Agents write memory, so a deploy must not fail on it.
  if (kind === 'knowledge') checkIgnoredKeys(file, KNOWLEDGE_KEYS, 'document');
  const headings = headingsOf(file.source.text.slice(file.bodyStart));
  const title =
    'title' in values && typeof values.title === 'string'
      ? values.title
      : headings.find(({ depth }) => depth === 1)?.text;
  return {
    kind: 'document',
    title: title ?? name.split('/').at(-1) ?? name,
    description: values.description ?? '',
    headings: headings.map(({ text }) => text),
  };
}

/**
 * Finds headings outside of fences line by line, without a parser: documents are many, and no step depends on the
 * result.
 */
function headingsOf(body: string): { depth: number; text: string }[] {
  const headings: { depth: number; text: string }[] = [];
  let fence: string | undefined;
  for (const line of body.split(/\r\n|\n|\r/)) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
    } else if (mark !== undefined) fence = mark;
    else {
      const [, depth, text] = HEADING.exec(line) ?? [];
      if (depth && text && headings.length < 1_000) headings.push({ depth: depth.length, text: toPlainText(text) });
    }
  }
  return headings;
}
