import type { ToolSpec } from '../../models/contract.js';
import { isRecord } from '../../shared/json.js';
import { parameters, stringArg, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { toolOf } from '../names.js';
import { ok } from '../outcome.js';
import { callTool } from './call-tool.js';

/** The weight of a word by the field it occurs in. */
const WEIGHTS = { name: 4, description: 2, parameters: 1 } as const;

const MAX_FOUND = 8;

const MAX_NAMED = 40;

const MAX_CHARACTERS = 24_000;

/** The maximum of listed tools. With more, a model chooses worse and pays for all of them with every call. */
export const MAX_LISTED = 40;

export interface Catalogue {
  /** Every tool that may be called, by the name that the model sees. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** The tools that the model sees. */
  readonly listed: readonly ToolSpec[];
}

/**
 * All tools of a step. While there are more than 40, the tool with the most operations is unlisted: `find_tool`
 * searches it and `call_tool` calls it. A document of a thousand operations thus hides no small tool.
 */
export function listTools(tools: readonly AgentTool[]): Catalogue {
  const hidden = hiddenOf(tools);
  const found = hidden.length === 0 ? [] : [findTool(hidden), callTool];
  const shown = [...tools.filter((tool) => !hidden.includes(tool)), ...found];
  return {
    tools: new Map([...shown, ...hidden].map((tool) => [tool.spec.name, tool])),
    listed: shown.map(({ spec }) => spec),
  };
}

function hiddenOf(tools: readonly AgentTool[]): readonly AgentTool[] {
  const groups = new Map<string, AgentTool[]>();
  for (const tool of tools) {
    const group = groups.get(toolOf(tool.ref)) ?? [];
    groups.set(toolOf(tool.ref), group);
    group.push(tool);
  }
  const largest = [...groups.values()].filter(({ length }) => length > 1).sort((a, b) => b.length - a.length);
  const hidden: AgentTool[] = [];
  for (const group of largest) {
    if (tools.length - hidden.length <= MAX_LISTED) break;
    for (const tool of group) hidden.push(tool);
  }
  return hidden;
}

/** Searches the tools that are not listed. Its results have the same fields as listed tools. */
function findTool(hidden: readonly AgentTool[]): AgentTool {
  const rank = rankTools(hidden);
  return {
    ref: 'find_tool',
    spec: {
      name: 'find_tool',
      description: `Searches the tools that are not listed here, by what they do; call what it finds with call_tool. There are ${countsOf(hidden)}.`,
      parameters: parameters({ query: text('What the tool should do, in a few words; or its name.') }, ['query']),
    },
    acts: () => false,
    program: false,
    run: async (args) => {
      const found = rank(stringArg(args, 'query'));
      if (found.length === 0) return ok('no tool matches: try other words');
      return ok([...described(found), ...named(found.slice(MAX_FOUND))].join('\n\n'));
    },
  };
}

function countsOf(hidden: readonly AgentTool[]): string {
  const counts = new Map<string, number>();
  for (const { ref } of hidden) counts.set(toolOf(ref), (counts.get(toolOf(ref)) ?? 0) + 1);
  return [...counts].map(([tool, count]) => `${count} of ${tool}`).join(', ');
}

/** The best matches in full. One with very long parameters is shown without them when the limit is reached. */
function described(found: readonly AgentTool[]): string[] {
  let left = MAX_CHARACTERS;
  return found.slice(0, MAX_FOUND).map(({ spec }) => {
    const whole = `${spec.name}: ${spec.description}\nparameters: ${JSON.stringify(spec.parameters)}`;
    if (whole.length <= left) {
      left -= whole.length;
      return whole;
    }
    const { properties } = spec.parameters;
    const names = isRecord(properties) ? Object.keys(properties).join(', ') : 'none';
    return `${spec.name}: ${spec.description.slice(0, 500)}\nparameters (search for this name alone to see them whole): ${names.slice(0, 1_000)}`;
  });
}

function named(rest: readonly AgentTool[]): string[] {
  if (rest.length === 0) return [];
  const names = rest.slice(0, MAX_NAMED).map(({ spec }) => spec.name);
  const more = rest.length - names.length;
  return [`These match less: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`];
}

interface Entry {
  readonly tool: AgentTool;
  /** The weight of each word in its best field. */
  readonly words: ReadonlyMap<string, number>;
}

/**
 * A search over tools, best first. Finds tools that contain at least one of the words; an exact tool name comes first.
 */
function rankTools(tools: readonly AgentTool[]): (query: string) => AgentTool[] {
  // Built at the first search, since most steps never search.
  let index: { readonly entries: readonly Entry[]; readonly rarity: ReadonlyMap<string, number> } | undefined;
  return (query) => {
    index ??= indexOf(tools);
    const { entries, rarity } = index;
    const wanted = new Set(wordsOf(query));
    const exact = query.trim();
    return entries
      .map((entry) => ({ tool: entry.tool, score: score(entry, wanted, rarity) + exactNameScore(entry, exact) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.tool.spec.name < b.tool.spec.name ? -1 : 1))
      .map(({ tool }) => tool);
  };
}

function exactNameScore({ tool }: Entry, exact: string): number {
  return tool.spec.name === exact || tool.ref === exact || tool.ref.endsWith(`.${exact}`) ? 1_000 : 0;
}

function score({ words }: Entry, wanted: ReadonlySet<string>, rarity: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const word of wanted) sum += (words.get(word) ?? 0) * (rarity.get(word) ?? 0);
  return sum;
}

/** Rare words weigh more: the inverse document frequency of BM25. */
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

/** Splits a text into lower-case words, also at camelCase and snake_case, without plural endings. */
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
