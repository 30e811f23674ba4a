import { isRecord } from '../../shared/json.js';
import { parameters, stringArg, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { toolOf } from '../names.js';
import { ok } from '../outcome.js';
import { rankTools } from './rank-tools.js';

const MAX_FOUND = 8;
const MAX_NAMED = 40;
const MAX_CHARACTERS = 24_000;

/** Searches the tools that are not listed. Its results have the same fields as listed tools. */
export function findTool(hidden: readonly AgentTool[]): AgentTool {
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
