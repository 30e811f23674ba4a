/** What people write stays far below these; beyond them the markdown parser takes more than its share of time. */
export const MAX_LINES = 20_000;
export const MAX_BLOCKS = 4_000;
export const MAX_DEPTH = 24;

const CONTAINERS = /^[ \t]*(?:(?:>|[-+*]|\d{1,9}[.)])[ \t]*)*/;
const MARKER = />|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)/g;
const STARTS_BLOCK = /^[ \t]*(?:[#>\-+*=`~<|]|\d{1,9}[.)])/;

/**
 * A cheap look at markdown before it is parsed: undefined when it is fit to be, else the line (0-based) and a sentence.
 * Linear in the text.
 */
export function guardMarkdown(text: string): { readonly line: number; readonly message: string } | undefined {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > MAX_LINES) return { line: MAX_LINES, message: `The file has more than ${MAX_LINES} lines.` };
  let blocks = 0;
  let blankBefore = true;
  for (const [line, content] of lines.entries()) {
    if (depthOf(content) > MAX_DEPTH) return { line, message: `This line nests deeper than ${MAX_DEPTH} levels.` };
    const blank = content.trim() === '';
    if (!blank && (blankBefore || STARTS_BLOCK.test(content))) blocks += 1;
    if (blocks > MAX_BLOCKS)
      return { line, message: `The file has more than ${MAX_BLOCKS} headings, list items and paragraphs.` };
    blankBefore = blank;
  }
  return undefined;
}

/** Quote and list marks at a line's start; an indent of four counts as a level, since it may stand for one. */
function depthOf(line: string): number {
  const head = CONTAINERS.exec(line.slice(0, 2_000))?.[0] ?? '';
  const blanks = head.length - head.trimStart().length;
  return (head.match(MARKER)?.length ?? 0) + Math.floor(blanks / 4);
}
