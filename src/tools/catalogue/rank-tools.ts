import { isRecord } from '../../shared/json.js';
import type { AgentTool } from '../contract.js';

/** The weight of a word by the field it occurs in. */
const WEIGHTS = { name: 4, description: 2, parameters: 1 } as const;

interface Entry {
  readonly tool: AgentTool;
  /** Word to the weight of its best place. */
  readonly words: ReadonlyMap<string, number>;
}

/** A search over tools, best first; only those that hold at least one of the words. A tool's own name finds it first. */
export function rankTools(tools: readonly AgentTool[]): (query: string) => AgentTool[] {
  // At the first search: most steps that could search do not.
  let index: { readonly entries: readonly Entry[]; readonly rarity: ReadonlyMap<string, number> } | undefined;
  return (query) => {
    index ??= indexOf(tools);
    const { entries, rarity } = index;
    const wanted = new Set(wordsOf(query));
    const exact = query.trim();
    return entries
      .map((entry) => ({ tool: entry.tool, score: score(entry, wanted, rarity) + bonus(entry, exact) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.tool.spec.name < b.tool.spec.name ? -1 : 1))
      .map(({ tool }) => tool);
  };
}

function bonus({ tool }: Entry, exact: string): number {
  return tool.spec.name === exact || tool.ref === exact || tool.ref.endsWith(`.${exact}`) ? 1_000 : 0;
}

function score({ words }: Entry, wanted: ReadonlySet<string>, rarity: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const word of wanted) sum += (words.get(word) ?? 0) * (rarity.get(word) ?? 0);
  return sum;
}

/** Words that few tools have say most: the inverse document frequency of BM25. */
function indexOf(tools: readonly AgentTool[]) {
  const entries = tools.map((tool): Entry => ({ tool, words: weigh(tool) }));
  const counts = new Map<string, number>();
  for (const { words } of entries) for (const word of words.keys()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const rarity = new Map(
    [...counts].map(([word, count]) => [word, Math.log(1 + (tools.length - count + 0.5) / (count + 0.5))] as const),
  );
  return { entries, rarity };
}

function weigh({ ref, spec }: AgentTool): Map<string, number> {
  const { properties } = spec.parameters;
  const places = {
    parameters: isRecord(properties) ? Object.keys(properties).join(' ') : '',
    description: spec.description,
    name: ref,
  } satisfies Record<keyof typeof WEIGHTS, string>;
  const words = new Map<string, number>();
  for (const place of ['parameters', 'description', 'name'] as const) {
    for (const word of wordsOf(places[place])) words.set(word, WEIGHTS[place]);
  }
  return words;
}

/** Words in lower case, those of camelCase and snake_case apart, without the ending of a plural. */
function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
    .map(singular);
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
