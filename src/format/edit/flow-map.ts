import type { Text } from '../model.js';
import { type ReadHeading, readHeading } from '../parse/heading.js';
import { type Block, end, parseBlocks, start } from '../parse/markdown.js';
import { openFile } from '../parse/open-file.js';
import { isComment, type OptionLine, readOptions } from '../parse/options.js';
import { readProse } from '../parse/prose.js';
import { outline, type Section } from '../parse/sections.js';
import { openSource } from '../parse/source.js';
import { lineStart } from './splice.js';

/** A heading with its content, by offset. */
export interface Part {
  readonly heading: ReadHeading;
  readonly section: Section;
  readonly start: number;
  readonly end: number;
  readonly options: readonly OptionLine[];
  readonly list?: Block;
  /** False when only a part of its list is options, so that an edit would be ambiguous. */
  readonly sound: boolean;
  readonly schemas: readonly Block[];
  readonly comments: readonly Block[];
  /** The rest: instructions for the model. */
  readonly instruction: readonly Block[];
}

export interface StepPart extends Part {
  readonly n: number;
  /** The group (`##`) that it belongs to. */
  readonly group?: GroupPart;
}

export interface GroupPart extends Part {
  readonly first: number;
  readonly count: number;
}

export interface FlowMap {
  readonly text: string;
  readonly steps: readonly StepPart[];
  readonly groups: readonly GroupPart[];
  /** Where the first heading begins. */
  readonly bodyStart: number;
}

/** The offsets of the parts of a flow; undefined when the frontmatter is not closed or the file cannot be parsed. */
export function mapFlow(text: string): FlowMap | undefined {
  const file = openFile(openSource('', text));
  const blocks = file && parseBlocks(file);
  if (!blocks) return undefined;
  const { sections } = outline(blocks, text.length);
  const steps: StepPart[] = [];
  const groups: GroupPart[] = [];
  for (let at = 0; at < sections.length; ) {
    const section = sections[at] as Section;
    const after = sections.slice(at + 1).findIndex(({ depth }) => depth === 2);
    const branches = section.depth === 3 ? [] : sections.slice(at + 1, after < 0 ? undefined : at + 1 + after);
    if (branches.length === 0) steps.push({ ...partOf(text, section), n: steps.length + 1 });
    else {
      const group = { ...partOf(text, section), first: steps.length + 1, count: branches.length };
      groups.push(group);
      for (const branch of branches) steps.push({ ...partOf(text, branch), n: steps.length + 1, group });
    }
    at += 1 + branches.length;
  }
  const [first] = sections;
  return { text, steps, groups, bodyStart: first ? lineStart(text, start(first.heading)) : text.length };
}

function partOf(text: string, section: Section): Part {
  const findings = { source: openSource('', text), issues: [] };
  const { options, list } = readOptions(findings, section.blocks);
  const from = start(section.heading);
  const schemas = section.blocks.filter(isSchema);
  const comments = section.blocks.filter(isComment);
  return {
    heading: readHeading(text.slice(from, end(section.heading)), from),
    section,
    start: lineStart(text, from),
    end: section.bodyEnd === text.length ? text.length : lineStart(text, section.bodyEnd),
    options,
    ...(list ? { list } : {}),
    sound: findings.issues.length === 0,
    schemas,
    comments,
    instruction: section.blocks.filter(
      (block) => block !== list && !schemas.includes(block) && !comments.includes(block),
    ),
  };
}

function isSchema(block: Block): boolean {
  if (block.type !== 'code') return false;
  return /^(yaml|json) (schema|form)$/i.test(`${block.lang ?? ''} ${(block.meta ?? '').trim()}`);
}

/** The content of a part without offsets. An edit elsewhere does not change it. */
export interface PartContent {
  readonly depth: number;
  readonly title: string;
  readonly agent: string | null;
  readonly options: Readonly<Record<string, string>>;
  readonly schemas: readonly string[];
  readonly instruction: Text;
}

export function contentOf(text: string, part: Part): PartContent {
  const source = openSource('', text);
  const spans = part.instruction.map((block) => ({ start: lineStart(text, start(block)), end: end(block) }));
  return {
    depth: part.section.depth,
    title: part.heading.title,
    agent: part.heading.agent?.name ?? null,
    options: Object.fromEntries(part.options.map(({ key, value }) => [key, value])),
    schemas: part.schemas.map((block) => text.slice(start(block), end(block))),
    instruction: readProse(source, spans).pieces,
  };
}

/** All parts in the order of the file, groups before their branches. */
export function partsOf(map: FlowMap): readonly Part[] {
  return [...map.steps, ...map.groups].sort((a, b) => a.start - b.start);
}

/** The numbers of the steps, grouped when they run in parallel. */
export function groupsOf({ steps }: FlowMap): number[][] {
  const groups: number[][] = [];
  for (const step of steps) {
    if (step.group && step.group.first !== step.n) groups.at(-1)?.push(step.n);
    else groups.push([step.n]);
  }
  return groups;
}

/** Consecutive blocks of an instruction. Schemas and comments may separate them. */
export interface Run {
  readonly from: Block;
  readonly to: Block;
}

export function instructionRuns({ section, instruction }: StepPart): Run[] {
  const found: Run[] = [];
  let open: Run | undefined;
  for (const block of section.blocks) {
    if (!instruction.includes(block)) open = undefined;
    else if (open) {
      open = { from: open.from, to: block };
      found[found.length - 1] = open;
    } else {
      open = { from: block, to: block };
      found.push(open);
    }
  }
  return found;
}

/** The instructions of a step, as written. */
export function instructionOf(text: string, step: StepPart): string {
  return instructionRuns(step)
    .map(({ from, to }) => text.slice(lineStart(text, start(from)), end(to)))
    .join('\n\n');
}
