import type { Heading, Nodes, Root, RootContent } from 'mdast';
import { remark } from 'remark';
import remarkFrontmatter from 'remark-frontmatter';
import { type Findings, report } from './source.js';

/** Real files stay far below these limits; beyond them the markdown parser takes too long. */
const MAX_LINES = 20_000;

const MAX_BLOCKS = 4_000;

const MAX_DEPTH = 10;

const MAX_RUN = 8_000;

const CONTAINERS = /^[ \t]*(?:(?:>|[-+*]|\d{1,9}[.)])[ \t]*)*/;

const MARKER = />|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)/g;

const STARTS_BLOCK = /^[ \t]*(?:[#>\-+*=`~<|]|\d{1,9}[.)])/;

/** A top-level block of a file, with its offsets. */
export type Block = RootContent & { readonly position: { start: { offset: number }; end: { offset: number } } };

/**
 * Disabled constructs: our own rules read marks from the text, so remark need not parse inline text, which takes most
 * of its time.
 */
const INLINE = [
  'attention',
  'autolink',
  'characterEscape',
  'characterReference',
  'codeText',
  'definition',
  'hardBreakEscape',
  'htmlText',
  'labelEnd',
  'labelStartImage',
  'labelStartLink',
];

const inline = remark();

const blocks = remark()
  .use(remarkFrontmatter, ['yaml'])
  .use(function withoutInline() {
    const data = this.data() as { micromarkExtensions?: object[] };
    data.micromarkExtensions = [...(data.micromarkExtensions ?? []), { disable: { null: INLINE } }];
  });

/**
 * The top-level blocks of a file, without its frontmatter. Null, with a fault, when the text would be too slow to
 * parse.
 */
export function parseBlocks(findings: Findings): readonly Block[] | null {
  const { source } = findings;
  const refused = guardMarkdown(source.text);
  if (refused) {
    const hint = 'Split the file.';
    report(findings, source.lineStarts[refused.line] ?? 0, { code: 'file/too-large', message: refused.message, hint });
    return null;
  }
  const root: Root = blocks.parse(source.text);
  return root.children.filter((child) => child.type !== 'yaml') as Block[];
}

/** Markdown in one line as plain text: `**a** \@b` is `a @b`. */
export function toPlainText(markdown: string): string {
  // Most titles have no marks, and parsing takes a thousand times as long as this check.
  if (markdown.length > 1_000 || !/[\\`*_[\]<&!]/.test(markdown)) return markdown.replace(/\s+/g, ' ').trim();
  // The `x` prevents the start of a block, such as `1.` or `-`.
  return plainText(inline.parse(`x ${markdown}`))
    .slice(2)
    .replace(/\s+/g, ' ')
    .trim();
}

function plainText(node: Nodes): string {
  if ('value' in node) return node.type === 'html' ? '' : node.value;
  if ('alt' in node) return node.alt ?? '';
  return 'children' in node ? node.children.map(plainText).join('') : '';
}

export function start(block: Block): number {
  return block.position.start.offset;
}

export function end(block: Block): number {
  return block.position.end.offset;
}

export function isHeading(block: Block): block is Block & Heading {
  return block.type === 'heading';
}

interface Refused {
  /** 0-based. */
  readonly line: number;
  readonly message: string;
}

/**
 * A cheap check before markdown is parsed; undefined when it may be parsed. Linear in the text. The weights of lines
 * were measured: a quote costs four times a list item, the cost grows with the square of the depth, and a line that
 * continues a quote costs as much as the quote.
 */
function guardMarkdown(text: string): Refused | undefined {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > MAX_LINES) return { line: MAX_LINES, message: `The file has more than ${MAX_LINES} lines.` };
  let blocks = 0;
  let run = 0;
  let inQuote = false;
  for (const [line, content] of lines.entries()) {
    const { depth, quoted } = depthOf(content);
    if (depth > MAX_DEPTH) return { line, message: `This line nests deeper than ${MAX_DEPTH} levels.` };
    const blank = content.trim() === '';
    run = blank ? 0 : run + 1;
    inQuote = !blank && (inQuote || quoted);
    if (run === 1 || inQuote || (!blank && STARTS_BLOCK.test(content))) {
      blocks += Math.max(1, depth * depth) * (inQuote ? 4 : 1);
    }
    if (run > MAX_RUN) return { line, message: `This is a run of more than ${MAX_RUN} lines without a blank one.` };
    if (blocks > MAX_BLOCKS) return { line, message: `More than ${MAX_BLOCKS} headings, list items and paragraphs.` };
  }
  return undefined;
}

/**
 * Counts quote and list marks at the start of a line. Before a mark, six columns of indent count as a level, since
 * nested lists are indented. Without a mark they do not, since code may be indented deeply.
 */
function depthOf(line: string): { depth: number; quoted: boolean } {
  const head = CONTAINERS.exec(line.slice(0, 2_000))?.[0] ?? '';
  const marks = head.match(MARKER)?.length ?? 0;
  const depth = marks === 0 ? 0 : marks + Math.floor((head.length - head.trimStart().length) / 6);
  return { depth, quoted: head.includes('>') };
}
