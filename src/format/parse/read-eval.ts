import { didYouMean } from '../../shared/closest.js';
import { isNear } from '../values/is-near.js';
import { readCanned, readDecisions, readExpectations, readInput } from './case-parts.js';
import { checkBlocks } from './check-blocks.js';
import type { ReadCase, ReadEval } from './eval-model.js';
import { type ReadHeading, readHeading } from './heading.js';
import { checkIgnoredHeadings } from './ignored/check-ignored-headings.js';
import { checkIgnoredKeys } from './ignored/check-ignored-keys.js';
import { checkIgnoredOptions } from './ignored/check-ignored-options.js';
import { CASE_OPTIONS, EVAL_KEYS } from './keys/eval-keys.js';
import { end, parseBlocks, start } from './markdown.js';
import type { OpenFile } from './open-file.js';
import { readOptionValues } from './option-values.js';
import { readOptions } from './options.js';
import { readKeys } from './read-keys.js';
import { outline, type Section } from './sections.js';
import { report } from './source.js';

const PARTS = ['Input', 'Decisions', 'Tools', 'Expect'] as const;
type Part = (typeof PARTS)[number];

/** Reads an eval's file: each `##` is a case, its `###` are the parts. Null when it exceeds the parser's limits. */
export function readEval(file: OpenFile, name: string): ReadEval | null {
  const keys = readKeys(file, EVAL_KEYS, { node: file.node, kind: 'eval', sound: file.sound });
  const blocks = parseBlocks(file);
  if (blocks === null) return null;
  const { brief, sections, lateTitles } = outline(blocks, file.source.text.length);
  checkBlocks(file, blocks, lateTitles);
  checkIgnoredHeadings(file, blocks, PARTS);
  if (!checkIgnoredKeys(file, EVAL_KEYS, 'eval')) checkIgnoredOptions(file, 'preface', { blocks: brief, read: [] });
  const cases: ReadCase[] = [];
  for (let at = 0; at < sections.length; at += 1) {
    const section = sections[at] as Section;
    if (section.depth === 3) {
      const message = 'This `###` is not under a case.';
      report(file, start(section.heading), { code: 'eval/bad-value', message, hint: 'A case begins with `## `.' });
      continue;
    }
    const next = sections.findIndex((other, index) => index > at && other.depth === 2);
    const parts = sections.slice(at + 1, next < 0 ? undefined : next);
    cases.push(readCase(file, section, parts));
    at += parts.length;
  }
  return { kind: 'eval', name, keys, cases };
}

function readCase(file: OpenFile, section: Section, sections: readonly Section[]): ReadCase {
  const offset = start(section.heading);
  const { title } = headingOf(file, section);
  const parts = partsOf(file, sections);
  const { options: lines, list } = readOptions(file, section.blocks);
  const options = readOptionValues(file, CASE_OPTIONS, { lines, missingAt: offset });
  checkIgnoredOptions(file, 'case', { blocks: section.blocks, read: list ? [list] : [] });
  const given = parts.get('Input');
  const isMisspelt = !given && sections.some((part) => isNear(headingOf(file, part).title, 'Input'));
  const rest = { start: list ? end(list) : section.bodyStart, end: section.bodyEnd };
  const input = given
    ? readInput(file, given.blocks, { start: given.bodyStart, end: given.bodyEnd })
    : readInput(file, section.blocks, rest);
  if (input === undefined && !isMisspelt) {
    const message = `The case “${title}” has no input.`;
    const hint = 'Write it under the heading, or under `### Input`.';
    report(file, given ? start(given.heading) : offset, { code: 'case/no-input', message, hint });
  }
  const read = <T>(part: Part, reader: (file: OpenFile, section: Section) => T[]): T[] => {
    const found = parts.get(part);
    return found ? reader(file, found) : [];
  };
  return {
    title,
    offset,
    options,
    input: input ?? null,
    decisions: read('Decisions', readDecisions),
    canned: read('Tools', readCanned),
    expect: read('Expect', readExpectations),
  };
}

function headingOf({ source }: OpenFile, { heading }: Section): ReadHeading {
  return readHeading(source.text.slice(start(heading), end(heading)), start(heading));
}

function partsOf(file: OpenFile, sections: readonly Section[]): Map<Part, Section> {
  const parts = new Map<Part, Section>();
  for (const section of sections) {
    const at = start(section.heading);
    const { title } = headingOf(file, section);
    const part = PARTS.find((known) => known.toLowerCase() === title.toLowerCase());
    if (part === undefined) {
      const hint = didYouMean(title, PARTS) ?? `The parts are ${PARTS.join(', ')}; \`####\` is text.`;
      report(file, at, { code: 'eval/unknown-key', message: `A case has no part \`${title}\`.`, hint });
    } else if (parts.has(part)) {
      report(file, at, { code: 'yaml/duplicate-key', message: `The part \`${part}\` occurs twice in this case.` });
    } else parts.set(part, section);
  }
  return parts;
}
