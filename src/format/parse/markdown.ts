import type { Heading, Nodes, Root, RootContent } from 'mdast';
import { remark } from 'remark';
import remarkFrontmatter from 'remark-frontmatter';
import { guardMarkdown } from './guard-markdown.js';
import { type Findings, report } from './source.js';

/** A top-level piece of a file, with its place in the text. */
export type Block = RootContent & { readonly position: { start: { offset: number }; end: { offset: number } } };

/** Text marks are read by our own rules from the bytes, so remark need not look inside paragraphs: that is most of its time. */
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

/** The top-level blocks of a file, without its frontmatter. Null, with a fault, when it is not fit to be parsed. */
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
  // Most titles hold no mark, and a parse costs a thousand times as much as this look.
  if (markdown.length > 1_000 || !/[\\`*_[\]<&!]/.test(markdown)) return markdown.replace(/\s+/g, ' ').trim();
  // The sign keeps what would begin a block, such as `1.` or `-`, from doing so.
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
