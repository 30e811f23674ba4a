import type { Json } from '../../shared/json.js';
import { readProse } from '../parse/prose.js';
import { openSource } from '../parse/source.js';
import { reads, UNREADABLE } from './edit-flow.js';
import { contentOf, type FlowMap, mapFlow, type PartContent, partsOf } from './flow-map.js';
import { isClosed } from './is-closed.js';
import { printOption } from './print-option.js';
import { behindMark, type Edited, gapBehind, lineEndOf, refuse, splice, withLineEnds } from './splice.js';

export interface NewStep {
  readonly title: string;
  readonly agent?: string;
  readonly options?: Readonly<Record<string, Json>>;
  readonly instruction?: string;
}

/**
 * Adds a step, at the end or before step `before`. Before the first branch of a group, the step is placed before the
 * group; before a later branch, it becomes a branch.
 */
export function insertStep(text: string, step: NewStep, before?: number): Edited {
  return behindMark(text, (plain) => {
    const map = mapFlow(plain);
    if (!map) return refuse(UNREADABLE);
    const place = placeOf(map, before);
    if (!place) return refuse(`There is no step ${before}: the flow has ${map.steps.length}.`);
    const made = write(step, place.depth);
    if ('reason' in made) return refuse(made.reason);
    const { at } = place;
    const lineEnd = lineEndOf(plain);
    const after = at < plain.length ? lineEnd : '';
    const written = gapBehind(plain.slice(0, at), lineEnd) + withLineEnds(made.text, lineEnd) + lineEnd + after;
    const result = splice(plain, [{ start: at, end: at, text: written }]);
    const others = partsOf(map);
    const count = others.filter((part) => part.start < at).length;
    const content = others.map((part) => contentOf(plain, part));
    if (reads(result, [...content.slice(0, count), made.content, ...content.slice(count)]))
      return { ok: true, text: result };
    return refuse(OTHERWISE);
  });
}

const OTHERWISE =
  'The step would not read back as it was given: keep headings and unclosed fences out of it, and marks out of its title.';

function placeOf(map: FlowMap, before: number | undefined): { at: number; depth: 2 | 3 } | undefined {
  if (before === undefined) return { at: map.text.length, depth: 2 };
  const next = map.steps[before - 1];
  if (!next) return undefined;
  if (!next.group) return { at: next.start, depth: next.section.depth };
  return next.group.first === before ? { at: next.group.start, depth: 2 } : { at: next.start, depth: 3 };
}

function write(step: NewStep, depth: 2 | 3): { text: string; content: PartContent } | { reason: string } {
  const title = step.title.trim().replace(/\s+/g, ' ');
  if (title === '') return { reason: 'A step needs a title.' };
  if (step.agent !== undefined && !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(step.agent)) {
    return { reason: `\`${step.agent}\` is not a valid agent name.` };
  }
  const options = new Map<string, string>();
  for (const [key, value] of Object.entries(step.options ?? {})) {
    const printed = value === null ? undefined : printOption(key, value);
    if (printed === undefined && value !== null) return { reason: `\`${key}\` takes an expression on one line.` };
    if (printed !== undefined) options.set(key, printed);
  }
  const heading = `${'#'.repeat(depth)} ${title}${step.agent === undefined ? '' : ` @${step.agent}`}`;
  const list = [...options].map(([key, value]) => `- ${key}: ${value}`).join('\n');
  const instruction = (step.instruction ?? '').replace(/^(?:[ \t]*[\r\n])+/, '').trimEnd();
  if (!isClosed(instruction)) return { reason: OTHERWISE };
  const pieces = readProse(openSource('', instruction), [{ start: 0, end: instruction.length }]).pieces;
  return {
    text: [heading, list, instruction].filter((part) => part !== '').join('\n\n'),
    content: {
      depth,
      title,
      agent: step.agent ?? null,
      options: Object.fromEntries(options),
      schemas: [],
      instruction: pieces,
    },
  };
}
