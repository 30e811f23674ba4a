import type { List, ListItem } from 'mdast';
import { type Block, end, start } from './markdown.js';
import { type Findings, report } from './source.js';

/** One `- key: value` line under a heading. */
export interface OptionLine {
  readonly key: string;
  readonly offset: number;
  /** The rest of the line, trimmed; for a wrapped option, its lines joined by a blank. */
  readonly value: string;
  readonly valueOffset: number;
  /** The end of its text, on whichever line. */
  readonly end: number;
}

export interface ReadOptions {
  readonly options: readonly OptionLine[];
  /** The list of the options, which is not part of the instruction. */
  readonly list?: Block;
}

const OPTION = /^([a-z][a-z_]*):( |$)/;
const MIXED_HINT = 'Put a sentence, or the other bullet mark, before the list that is instruction.';

/** Reads the bullet list right under a heading; comments before it are skipped. */
export function readOptions(findings: Findings, blocks: readonly Block[]): ReadOptions {
  const first = blocks.find((block) => !isComment(block));
  if (first?.type !== 'list' || first.ordered) return { options: [] };
  const items = (first as Block & List).children.map((item) => readItem(findings, item));
  if (items.every((item) => item.option === undefined)) return { options: [] };
  const stray = items.find((item) => item.option === undefined);
  if (stray) {
    const message = 'Only some items of this list are options; a blank line does not end a list.';
    report(findings, stray.offset, { code: 'step/mixed-list', message, hint: MIXED_HINT });
  }
  for (const { option, lines, offset } of items) {
    if (option === undefined || lines === 1) continue;
    const message = `The option \`${option.key}\` runs over ${lines} lines.`;
    const hint = 'Write it on one line, and leave a blank line between the options and the text.';
    report(findings, offset, { code: 'step/option-not-one-line', message, hint });
  }
  return { options: items.flatMap(({ option, lines }) => (option && lines === 1 ? [option] : [])), list: first };
}

export function isComment(block: Block): boolean {
  return (
    block.type === 'html' &&
    /^<!--[\s\S]*-->\s*$/.test(block.value) &&
    block.value.indexOf('-->') === block.value.lastIndexOf('-->')
  );
}

interface Item {
  readonly offset: number;
  readonly lines: number;
  readonly option?: OptionLine;
}

function readItem({ source }: Findings, node: ListItem): Item {
  const offset = start(node as unknown as Block);
  const raw = source.text.slice(offset, end(node as unknown as Block)).trimEnd();
  const marker = /^[-+*][ \t]*/.exec(raw)?.[0].length ?? 0;
  const [first = '', ...more] = raw.slice(marker).split(/\r\n|\n|\r/);
  // A formatter that wraps prose breaks a long option and indents the rest. Lines without an indent are ordinary text.
  const isWrapped = node.children.length === 1 && node.children[0]?.type === 'paragraph' && more.every(isIndented);
  const line = isWrapped ? [first.trimEnd(), ...more.map((rest) => rest.trim())].join(' ') : first;
  const lines = isWrapped ? 1 : more.length + 1;
  const match = OPTION.exec(line);
  if (!match) return { offset, lines };
  const [, key = ''] = match;
  const behind = marker + key.length + 1;
  const rest = isWrapped ? raw.slice(behind) : first.slice(behind - marker);
  const valueOffset = offset + behind + (rest.length - rest.trimStart().length);
  const value = line.slice(match[0].length).trim();
  return { offset, lines, option: { key, offset: offset + marker, value, valueOffset, end: offset + raw.length } };
}

function isIndented(line: string): boolean {
  return /^(?: {2}|\t)/.test(line);
}
