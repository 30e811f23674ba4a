import { reads, UNREADABLE } from './edit-flow.js';
import { contentOf, type FlowMap, type GroupPart, groupsOf, mapFlow, type Part, type PartContent } from './flow-map.js';
import { behindMark, type Edited, endsInBlankLine, lineEndOf, refuse, withoutBlankEnd } from './splice.js';

type Groups = readonly (readonly number[])[];

/**
 * Rearranges the steps: `[[1], [2, 3]]` is step 1, then 2 and 3 in parallel. Each step's text moves whole. A group
 * keeps its heading where most of its branches stay together; a new group gets a new heading.
 */
export function regroup(text: string, groups: Groups): Edited {
  return behindMark(text, (plain) => {
    const map = mapFlow(plain);
    if (!map) return refuse(UNREADABLE);
    const numbers = groups.flat().sort((a, b) => a - b);
    if (groups.some((group) => group.length === 0) || numbers.join() !== map.steps.map(({ n }) => n).join()) {
      return refuse(`\`groups\` must name each of the ${map.steps.length} steps once.`);
    }
    if (JSON.stringify(groups) === JSON.stringify(groupsOf(map))) return { ok: true, text: plain };
    const heads = headsFor(map, groups);
    const lost = map.groups.find((group) => !heads.includes(group) && hasMeaning(group));
    if (lost)
      return refuse(`The group \`${lost.heading.title}\` has options or text that would be lost: take them out first.`);
    const chunks = groups.flatMap((group, index) => chunksOf(map, group, heads[index]));
    const result = plain.slice(0, map.bodyStart) + joined(plain, chunks);
    if (
      reads(
        result,
        chunks.map(({ content }) => content),
      )
    )
      return { ok: true, text: result };
    return refuse('The steps would not read the same in this order: edit the file by hand.');
  });
}

function hasMeaning({ options, instruction }: GroupPart): boolean {
  return options.some(({ key }) => key !== 'id') || instruction.length > 0;
}

/** The old heading for each new group: the one of most of its steps. Each heading is used once. */
function headsFor(map: FlowMap, groups: Groups): readonly (GroupPart | string | undefined)[] {
  const free = new Set(map.groups);
  const titles = new Set([...map.groups, ...map.steps].map(({ heading }) => heading.title.toLowerCase()));
  return groups.map((group) => {
    if (group.length === 1) return undefined;
    const shared = (head: GroupPart) => group.filter((n) => n >= head.first && n < head.first + head.count).length;
    const [best] = [...free].filter((head) => shared(head) > 0).sort((a, b) => shared(b) - shared(a));
    if (best) free.delete(best);
    return best ?? freshTitle(titles);
  });
}

function freshTitle(taken: Set<string>): string {
  let title = 'In parallel';
  for (let count = 2; taken.has(title.toLowerCase()); count += 1) title = `In parallel ${count}`;
  taken.add(title.toLowerCase());
  return title;
}

interface Chunk {
  readonly text: string;
  readonly content: PartContent;
}

function chunksOf(map: FlowMap, group: readonly number[], head: GroupPart | string | undefined): Chunk[] {
  const depth = head === undefined ? 2 : 3;
  const steps = group.flatMap((n) => map.steps[n - 1] ?? []).map((step) => moved(map.text, step, depth));
  if (head === undefined) return steps;
  if (typeof head !== 'string') return [moved(map.text, head, 2), ...steps];
  const content: PartContent = { depth: 2, title: head, agent: null, options: {}, schemas: [], instruction: [] };
  return [{ text: `## ${head}`, content }, ...steps];
}

function moved(text: string, part: Part, depth: 2 | 3): Chunk {
  const source = text.slice(part.start, part.end).replace(/^( {0,3})#{2,3}(?=\s)/, `$1${'#'.repeat(depth)}`);
  return { text: source, content: { ...contentOf(text, part), depth } };
}

/** Leaves at least one blank line between chunks. The file ends as before. */
function joined(text: string, chunks: readonly Chunk[]): string {
  const lineEnd = lineEndOf(text);
  const tail = text.slice(withoutBlankEnd(text).length);
  const spaced = chunks.map(({ text: chunk }) =>
    endsInBlankLine(chunk) ? chunk : withoutBlankEnd(chunk) + lineEnd + lineEnd,
  );
  return withoutBlankEnd(spaced.join('')) + tail;
}
