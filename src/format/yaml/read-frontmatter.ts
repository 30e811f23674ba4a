import { readYaml, type YamlRead } from './read-yaml.js';

export type Frontmatter =
  | { readonly kind: 'none'; readonly bodyStart: 0 }
  /** The first line opens frontmatter that no later line closes. */
  | { readonly kind: 'unclosed' }
  | ({ readonly kind: 'closed'; readonly bodyStart: number } & YamlRead);

const OPENING = /^---[ \t]*(?:\r\n|\n|\r)/;
const CLOSING = /(?:\r\n|\n|\r)---[ \t]*(?=\r|\n|$)/g;

/** Reads the frontmatter of a text without a BOM; offsets are into the whole text. */
export function readFrontmatter(text: string): Frontmatter {
  const opening = OPENING.exec(text);
  if (!opening) return text.trimEnd() === '---' ? { kind: 'unclosed' } : { kind: 'none', bodyStart: 0 };
  // Search from the end of the opening dashes, so that empty frontmatter is closed too.
  CLOSING.lastIndex = 3;
  const closing = CLOSING.exec(text);
  if (!closing) return { kind: 'unclosed' };
  const start = opening[0].length;
  const end = Math.max(start, closing.index);
  return { kind: 'closed', bodyStart: closing.index + closing[0].length, ...readYaml(text.slice(start, end), start) };
}
