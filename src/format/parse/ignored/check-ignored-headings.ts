import type { Nodes } from 'mdast';
import { readHeading } from '../heading.js';
import { type Block, end, isHeading, start } from '../markdown.js';
import { type Findings, report } from '../source.js';
import { lettersOf } from './known-keys.js';

/**
 * Reports text that looks like a heading of the format and is not one. `parts` are the names of a case's parts, in an
 * eval.
 */
export function checkIgnoredHeadings(
  findings: Findings,
  blocks: readonly Block[],
  parts: readonly string[] = [],
): void {
  const names = new Set(parts.map(lettersOf));
  for (const block of blocks) {
    if (isHeading(block)) checkTopLevel(findings, block, names);
    else checkInside(findings, block, names);
  }
}

function checkTopLevel(findings: Findings, block: Block, names: ReadonlySet<string>): void {
  const raw = findings.source.text.slice(start(block), end(block));
  const depth = /^#*/.exec(raw)?.[0].length ?? 0;
  const { title, agent } = readHeading(raw, start(block));
  if (names.has(lettersOf(title)) && depth !== 3) warn(findings, block, `A part of a case begins with \`###\``);
  else if (names.size === 0 && agent && depth !== 2 && depth !== 3) warn(findings, block, 'A step begins with `##`');
}

/** Headings in lists, quotes and HTML, and lines of bold text that look like headings. */
function checkInside(findings: Findings, block: Block, names: ReadonlySet<string>): void {
  const waiting: Nodes[] = [block];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const inner = node as Block;
    if (node.type === 'heading') {
      if (node.depth === 2 || node.depth === 3) warn(findings, inner, 'A heading counts outside lists and quotes only');
    } else if ('children' in node && node.type !== 'paragraph') waiting.push(...node.children);
    else if (looksLikeHeading(findings.source.text.slice(start(inner), end(inner)), node.type, names))
      warn(findings, inner, names.size > 0 ? 'A part of a case begins with `###`' : 'A step begins with `##`');
  }
}

function looksLikeHeading(raw: string, type: string, names: ReadonlySet<string>): boolean {
  if (type === 'html') return /<h[1-6][\s>]/i.test(raw);
  if (type === 'code') return !/^(?:`{3}|~{3})/.test(raw) && /^\s*#{2,3}[ \t]+\S/m.test(raw);
  if (type !== 'paragraph') return false;
  const [first = ''] = raw.split(/[\r\n]/, 1);
  const text = first.trim();
  if (names.size > 0)
    return /^(?:\*\*.*\*\*|__.*__|\w+)\s*:?$/.test(text) && /[:*_]/.test(text) && names.has(lettersOf(text));
  return /^(?:\*\*|__).*\s@[A-Za-z0-9][\w.-]*(?:\*\*|__)$/.test(text) && raw.trim() === text;
}

function warn(findings: Findings, block: Block, rule: string): void {
  const message = 'This looks like a heading of the format, but is read as text or as another heading.';
  report(findings, start(block), {
    code: 'file/heading-ignored',
    severity: 'warning',
    message,
    hint: `${rule}, at the beginning of a line.`,
  });
}
