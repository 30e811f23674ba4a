import type { Nodes } from 'mdast';
import { segments } from '../text/segments.js';
import { type Block, end, isHeading, start } from './markdown.js';
import { type Findings, report } from './source.js';

/** Reports blocks that swallow the headings after them, and text that looks like a heading but is not. */
export function checkBlocks(findings: Findings, blocks: readonly Block[], lateTitles: readonly Block[] = []): void {
  for (const block of blocks) {
    if (isHeading(block) && findings.source.text[start(block)] !== '#') reportSetext(findings, block);
    checkInside(findings, block);
  }
  for (const title of lateTitles) {
    const message = 'A `#` title is after another heading or title.';
    report(findings, start(title), { code: 'file/late-title', message, hint: 'A step or a case begins with `## `.' });
  }
}

function reportSetext(findings: Findings, block: Block): void {
  const message = 'A line of `---` or `===` under a text makes it a heading.';
  const hint = 'Write `## Title`, or leave a blank line before the rule.';
  report(findings, start(block), { code: 'file/setext-heading', message, hint });
}

const CHECKS: Readonly<Record<string, (findings: Findings, block: Block) => void>> = {
  code: checkFence,
  html: checkHtml,
  paragraph: checkParagraph,
  heading: checkComments,
};

function checkInside(findings: Findings, block: Block): void {
  const waiting: Nodes[] = [block];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const check = CHECKS[node.type];
    if (check) check(findings, node as Block);
    else if ('children' in node) for (const child of node.children) waiting.push(child);
  }
}

function checkFence(findings: Findings, block: Block): void {
  const raw = findings.source.text.slice(start(block), end(block));
  const fence = /^(`{3,}|~{3,})/.exec(raw)?.[1];
  if (fence === undefined) return;
  const lines = raw.trimEnd().split(/\r\n|\n|\r/);
  const last = lines.length > 1 ? (lines.at(-1) ?? '').replace(/^[ \t>]*/, '') : '';
  if (last.startsWith(fence) && last.split('').every((char) => char === fence[0])) return;
  const message = `This code block is not closed; all that follows is taken for code.`;
  report(findings, start(block), { code: 'file/unclosed-fence', message, hint: `End it with a line of \`${fence}\`.` });
}

function checkParagraph(findings: Findings, block: Block): void {
  checkComments(findings, block);
  const from = start(block);
  const raw = findings.source.text.slice(from, end(block));
  // A paragraph's line that begins with `##` after too much white space, or white space that markdown does not know.
  for (const match of raw.matchAll(/(?<=^|[\r\n])([\p{Z}\t\u200B-\u200D\u2060\uFEFF]*)([#＃]{2,3})(?![#＃])/gu)) {
    const [, before = '', mark = ''] = match;
    const isSpaced = /^[ \t]/.test(raw.slice(match.index + match[0].length));
    const message = isSpaced
      ? `\`${mark}\` behind other white space than three blanks is not a heading.`
      : `\`${mark}\` without a space after it is not a heading.`;
    const hint = `Begin the line with \`## \` or \`### \`, or put a backslash before it.`;
    const fault = { code: 'file/heading-without-space', message, hint };
    report(findings, from + match.index + before.length, fault);
  }
}

/** Elements of raw text up to their closing tag (CommonMark 4.6, kind 1). With a closing tag, the block is intended. */
const RAW_ELEMENT = /^<(pre|script|style|textarea)(?=[\s>])/i;
const SWALLOWED = /^ {0,3}#{2,3}(?:[ \t].*)?$/m;

/** An HTML block includes all lines up to a blank one, or to the end of the file: a gate in it would be lost. */
function checkHtml(findings: Findings, block: Block): void {
  checkComments(findings, block);
  const raw = findings.source.text.slice(start(block), end(block));
  const element = RAW_ELEMENT.exec(raw)?.[1];
  if (element !== undefined && new RegExp(`</${element}>`, 'i').test(raw)) return;
  // Blanked, not removed, so that offsets stay the same.
  const seen = raw.replace(/<!--[\s\S]*?(?:-->|$)/g, (comment) => comment.replace(/[^\r\n]/g, ' '));
  const found = SWALLOWED.exec(seen);
  if (found === null) return;
  const message = `\`${found[0].trim().slice(0, 60)}\` is inside HTML and is not a heading.`;
  const hint = 'Close the HTML and leave a blank line before the heading, or put the text in a code block.';
  report(findings, start(block) + found.index + found[0].search(/#/), { code: 'file/unclosed-comment', message, hint });
}

function checkComments(findings: Findings, block: Block): void {
  const from = start(block);
  const raw = findings.source.text.slice(from, end(block));
  if (!raw.includes('<!--')) return;
  for (const segment of segments(raw)) {
    if (segment.kind === 'comment' && !isClosed(raw.slice(segment.start, segment.end))) {
      const message = 'This comment is not closed before its paragraph ends.';
      report(findings, from + segment.start, { code: 'file/unclosed-comment', message, hint: 'End it with `-->`.' });
    }
  }
}

function isClosed(comment: string): boolean {
  return comment.length >= 5 && comment.endsWith('-->');
}
