import type { Code, Heading, List } from 'mdast';
import { type Block, end, start } from '../markdown.js';
import { isComment } from '../options.js';
import type { Source } from '../source.js';

/** A line of text where no option is read. */
export interface TextLine {
  readonly text: string;
  readonly offset: number;
  /** True if it begins a list item, or is in a code block. */
  readonly isItem: boolean;
}

/** Lines that belong together: the items of a list, a paragraph, a code block. */
export interface TextGroup {
  readonly lines: readonly TextLine[];
  /** Code may be an example, so it counts only as a whole, or by an option that is rarely an example. */
  readonly isCode: boolean;
}

/** Info strings of blocks that may hold options. Blocks of other languages are examples. */
const OPTION_FENCE = /^(?:ya?ml|markdown|md|toml|ini|properties|options|config)?$/i;

/** The search for tags takes time by the square of a line's length. */
const MAX_HTML_LINE = 500;

/** The groups of lines in a block, including nested lists and quotes. */
export function groupsOf(source: Source, block: Block): TextGroup[] {
  if (block.type === 'list') return listGroups(source, block as Block & List);
  if (block.type === 'blockquote') return childrenOf(block).flatMap((child) => groupsOf(source, child));
  if (block.type === 'code') return codeGroups(source, block as Block & Code);
  if (block.type === 'paragraph') return [{ lines: linesOf(source, block), isCode: false }];
  if (block.type === 'heading') return headingGroups(source, block as Block & Heading);
  if (block.type !== 'html' || isComment(block)) return [];
  if (block.value.includes('<!--')) return [];
  const lines = linesOf(source, block).filter(({ text }) => text.length < MAX_HTML_LINE);
  return [{ lines: lines.map((line) => ({ ...line, text: line.text.replace(/<[^>]*>/g, ' ') })), isCode: false }];
}

function childrenOf(block: object): readonly Block[] {
  return 'children' in block ? (block.children as Block[]) : [];
}

function listGroups(source: Source, list: Block & List): TextGroup[] {
  const items: TextLine[] = [];
  const deeper: TextGroup[] = [];
  for (const item of list.children) {
    const [first, ...rest] = childrenOf(item);
    if (first === undefined) continue;
    const nested = first.type === 'paragraph' ? rest : [first, ...rest];
    if (first.type === 'paragraph') {
      const [line, ...more] = linesOf(source, first);
      // A formatter may wrap a long option: join its lines.
      const joined = [line, ...more].map((part) => part?.text.trim()).join(' ');
      if (line) items.push({ ...line, text: joined, isItem: true });
      if (more.length > 0) deeper.push({ lines: more, isCode: false });
    }
    for (const child of nested) deeper.push(...groupsOf(source, child));
  }
  return [{ lines: items, isCode: false }, ...deeper];
}

/** Headings of steps and cases are checked where they are read. */
function headingGroups(source: Source, block: Block & Heading): TextGroup[] {
  if (block.depth < 4) return [];
  const lines = linesOf(source, block).map((line) => ({ ...line, text: line.text.replace(/^\s*#+|\s#+\s*$/g, '') }));
  return [{ lines, isCode: false }];
}

const FENCE_LINE = /^\s*(?:`{3,}|~{3,})/;
/** One `#`. In markdown, a line with more of them is a heading. */
const COMMENT_LINE = /^\s*(?:#(?!#)|\/\/)/;

function codeGroups(source: Source, block: Block & Code): TextGroup[] {
  const info = [block.lang, block.meta].filter(Boolean).join(' ');
  if (!OPTION_FENCE.test(info)) return [];
  const lines = linesOf(source, block).filter(
    ({ text }) => !FENCE_LINE.test(text) && !COMMENT_LINE.test(text) && text.trim() !== '',
  );
  return [{ lines: lines.map((line) => ({ ...line, isItem: true })), isCode: true }];
}

function linesOf(source: Source, block: Block): TextLine[] {
  const lines: TextLine[] = [];
  let offset = start(block);
  for (const raw of source.text.slice(offset, end(block)).split(/(?<=\n)|(?<=\r)(?!\n)/)) {
    lines.push({
      text: raw.replace(/[\r\n]+$/, ''),
      offset: offset + (raw.length - raw.trimStart().length),
      isItem: false,
    });
    offset += raw.length;
  }
  return lines;
}
