import { readFrontmatter } from '../yaml/read-frontmatter.js';

/** The author's parts of a memory file: the frontmatter without the service's keys, and the text. */
export interface MemoryParts {
  /** Null when the frontmatter has none. */
  readonly description: string | null;
  readonly body: string;
}

/** All frontmatter keys of a memory file. The service writes all but the first. */
const KEYS: readonly string[] = ['description', 'updated', 'by', 'run'];
const BLANK_LINES = /^(?:[ \t]*(?:\r\n|\n|\r))+/;
const MAX_DESCRIPTION = 500;
const SHOWN = 200;

/** The parts of a memory file, or the sentence that says why its frontmatter cannot be read. */
export function readMemory(text: string): MemoryParts | string {
  const source = text.replace(/^\uFEFF/, '');
  const frontmatter = readFrontmatter(source);
  if (frontmatter.kind === 'unclosed') {
    return 'its first line `---` opens frontmatter that no later `---` closes: close it, or leave it out';
  }
  if (frontmatter.kind === 'none') return { description: null, body: source.replace(BLANK_LINES, '') };
  const [fault] = frontmatter.faults;
  if (fault) return `its frontmatter cannot be read: ${fault.message}`;
  const body = source.slice(frontmatter.bodyStart).replace(BLANK_LINES, '');
  const { node } = frontmatter;
  if (node === null || node.value === null) return { description: null, body };
  if (!node.entries) return 'its frontmatter is not a list of keys: give `description: …`, or leave it out';
  const unknown = [...node.entries.keys()].find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    return `its frontmatter has the key \`${unknown}\`: a memory file has \`description\` alone, the rest is written for you`;
  }
  const description = node.entries.get('description')?.node.value ?? null;
  if (description !== null && typeof description !== 'string')
    return 'its `description` is not a text: put it in quotes';
  return { description: description === null ? null : oneLine(description, MAX_DESCRIPTION), body };
}

/** A document's description in lists of files: from its frontmatter, else the first words of its text; on one line. */
export function describeDocument(text: string): string {
  const parts = readMemory(text);
  if (typeof parts !== 'string') return oneLine(parts.description ?? firstWords(parts.body), SHOWN);
  // Knowledge has other frontmatter keys.
  const frontmatter = readFrontmatter(text.replace(/^\uFEFF/, ''));
  const description = frontmatter.kind === 'closed' ? frontmatter.node?.entries?.get('description')?.node.value : null;
  return typeof description === 'string' ? oneLine(description, SHOWN) : '';
}

/** The first heading or line of a text, without the marks before it. */
function firstWords(body: string): string {
  const line = body.split(/\r\n|\n|\r/).find((one) => /[\p{L}\p{N}]/u.test(one)) ?? '';
  return oneLine(line.replace(/^[\s#>*+-]+/, ''), SHOWN);
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
