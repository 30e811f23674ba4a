import type { Code } from 'mdast';
import type { JsonObject } from '../../shared/json.js';
import { readSchema } from '../schema/index.js';
import type { ReadGroup, ReadStep } from './flow-model.js';
import { type ReadHeading, readHeading } from './heading.js';
import { checkHeadingText, checkIgnoredOptions, checkIgnoredSchemas } from './ignored/check-ignored-options.js';
import { type Block, end, start } from './markdown.js';
import type { OpenFile } from './open-file.js';
import { readOptionValues } from './option-values.js';
import { readOptions } from './options.js';
import { type Prose, readProse, type Span, without } from './prose.js';
import type { KeyValues } from './read-keys.js';
import type { Section } from './sections.js';
import { positionAt, report } from './source.js';
import { foldStepId, oldStepId, stepIdFault } from './step-id.js';
import { GROUP_OPTIONS, STEP_OPTIONS } from './step-options.js';

export function readStep(file: OpenFile, section: Section, n: number): ReadStep {
  const heading = headingOf(file, section);
  const offset = start(section.heading);
  reportSecondAgents(file, heading);
  const { options: lines, list } = readOptions(file, section.blocks);
  const options = readOptionValues(file, STEP_OPTIONS, { lines, missingAt: offset });
  const schemas = readSchemas(file, section.blocks);
  const parts = [...schemas.map(({ block }) => block), ...(list ? [list] : [])];
  checkIgnored(file, section, parts);
  const schema = schemas.find(({ use }) => use === 'schema')?.schema ?? options.values.schema;
  const form = schemas.find(({ use }) => use === 'form')?.schema ?? options.values.form;
  const placeOf = (use: 'schema' | 'form') => {
    const found = schemas.find((schema) => schema.use === use);
    return found ? start(found.block) : options.at(use);
  };
  reportTwice(file, schemas, { schema: options.has('schema'), form: options.has('form') });
  return {
    kind: 'step',
    n,
    ...idOf(file, heading, { options, offset }),
    title: heading.title,
    offset,
    ...(heading.agent ? { agent: heading.agent } : {}),
    ...(heading.agent === undefined && heading.others[0] ? { strayAgent: heading.others[0] } : {}),
    options,
    ...(schema ? { schema } : {}),
    ...(form ? { form } : {}),
    schemaAt: placeOf('schema'),
    formAt: placeOf('form'),
    instruction: bodyProse(file, section, parts),
  };
}

export function readGroup(
  file: OpenFile,
  section: Section,
  { branches, n }: { branches: readonly Section[]; n: number },
): ReadGroup {
  const heading = headingOf(file, section);
  const offset = start(section.heading);
  const twoDoers = (at: number, what: string) => {
    const message = `This heading holds parallel branches, so it takes no ${what}.`;
    report(file, at, { code: 'step/two-doers', message, hint: `Move the ${what} to a \`###\` branch.` });
  };
  if (heading.agent) twoDoers(heading.agent.offset, 'agent');
  const { options: lines, list } = readOptions(file, section.blocks);
  const options = readOptionValues(file, GROUP_OPTIONS, { lines, missingAt: offset, elsewhere: STEP_OPTIONS });
  const schemas = section.blocks.filter((block) => schemaInfo(block) !== undefined);
  for (const block of schemas) twoDoers(start(block), 'schema');
  const parts = [...schemas, ...(list ? [list] : [])];
  checkIgnored(file, section, parts);
  return {
    kind: 'group',
    ...idOf(file, heading, { options, offset }),
    title: heading.title,
    offset,
    options,
    preface: bodyProse(file, section, parts),
    branches: branches.map((branch, index) => readStep(file, branch, n + index)),
  };
}

/** Reports text that looks like a part of the step and is not read as one. */
function checkIgnored(file: OpenFile, { heading, blocks }: Section, read: readonly Block[]): void {
  checkHeadingText(file, file.source.text.slice(start(heading), end(heading)), start(heading));
  checkIgnoredOptions(file, 'step', { blocks, read });
  checkIgnoredSchemas(file, blocks, read);
}

function headingOf({ source }: OpenFile, { heading }: Section): ReadHeading {
  return readHeading(source.text.slice(start(heading), end(heading)), start(heading));
}

function reportSecondAgents(file: OpenFile, { agent, others }: ReadHeading): void {
  const surplus = agent ? others : others.slice(1);
  for (const { name, offset } of surplus) {
    const message = `A step has one agent; \`@${name}\` is a second one.`;
    report(file, offset, {
      code: 'step/two-agents',
      message,
      hint: `Write \`\\@${name}\`, or put it in backticks, to mean the text.`,
    });
  }
}

function idOf(
  file: OpenFile,
  { title }: ReadHeading,
  { options, offset }: { readonly options: KeyValues<Pick<typeof GROUP_OPTIONS, 'id'>>; readonly offset: number },
): Pick<ReadStep, 'id' | 'oldId'> {
  // The intended id is known even when the option `id` is misspelt.
  const meant = options.misspelt('id')?.value;
  if (typeof meant === 'string' && stepIdFault(meant) === undefined) return { id: meant };
  const found = options.values.id ?? foldStepId(title);
  const fault = found === '' ? 'No id can be made of this title.' : stepIdFault(found);
  if (fault)
    report(file, options.has('id') ? options.at('id') : offset, {
      code: 'step/bad-id',
      message: fault,
      hint: 'Give the step `- id: a_name` (a–z, 0–9, _).',
    });
  const oldId = options.has('id') ? undefined : oldStepId(title);
  return { id: found, ...(oldId === undefined ? {} : { oldId }) };
}

function bodyProse({ source }: OpenFile, { bodyStart, bodyEnd }: Section, parts: readonly Block[]): Prose {
  const spans: Span[] = parts.map((block) => ({ start: start(block), end: end(block) }));
  return readProse(source, without({ start: bodyStart, end: bodyEnd }, spans));
}

interface SchemaBlock {
  readonly block: Block;
  readonly use: 'schema' | 'form';
  readonly schema?: JsonObject;
}

function schemaInfo(block: Block): 'yaml schema' | 'json schema' | 'yaml form' | 'json form' | undefined {
  if (block.type !== 'code') return undefined;
  const info = `${block.lang ?? ''} ${(block.meta ?? '').trim()}`.toLowerCase();
  return /^(yaml|json) (schema|form)$/.test(info) ? (info as 'yaml schema') : undefined;
}

function readSchemas(file: OpenFile, blocks: readonly Block[]): SchemaBlock[] {
  return blocks.flatMap((block) => {
    const info = schemaInfo(block);
    if (info === undefined) return [];
    const read = readSchema((block as Block & Code).value, info);
    const use = info.endsWith('form') ? ('form' as const) : ('schema' as const);
    if (read.ok) return [{ block, use, schema: read.schema }];
    // The first line of the schema is the one after the fence.
    const at = file.source.lineStarts[positionAt(file.source, start(block)).line - 1 + read.line] ?? start(block);
    report(file, at, { code: 'step/bad-schema', message: `This is not a valid schema: ${read.message}.` });
    return [{ block, use }];
  });
}

function reportTwice(
  file: OpenFile,
  schemas: readonly SchemaBlock[],
  given: Readonly<Record<'schema' | 'form', boolean>>,
): void {
  const seen = { ...given };
  for (const { use, block } of schemas) {
    if (seen[use])
      report(file, start(block), { code: 'step/bad-schema', message: `A step has one ${use}; this is a second one.` });
    seen[use] = true;
  }
}
