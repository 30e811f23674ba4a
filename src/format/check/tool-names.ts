import { BUILTINS, BY_NAME } from '../parse/keys/agent-keys.js';
import type { ReadAgent } from '../parse/read-agent.js';
import { type Catalog, type Found, reachableIn } from '../resolve/catalog.js';

export const BUILTIN_NAMES: readonly string[] = [...BUILTINS, ...BY_NAME];

/** Names that an agent's file may grant: tool files in reach, servers, built-ins. */
export function grantableNames(catalog: Catalog, { name, keys }: ReadAgent): Set<string> {
  return new Set([
    ...BUILTIN_NAMES,
    ...reachableIn(catalog.tools, name).keys(),
    ...(catalog.servers?.model.servers ?? []).map((server) => server.name),
    ...(keys.values.mcpServers?.inline ?? []).map((server) => server.name),
  ]);
}

/** Names that an agent is granted: a step's `tools` and the agent's `approve` may name only these. */
export function grantedNames({ keys }: ReadAgent): Set<string> {
  const { tools = [], mcpServers } = keys.values;
  return new Set([
    ...BUILTIN_NAMES,
    ...tools.map(({ name }) => toolOf(name)),
    ...(mcpServers?.inline ?? []).map(({ name }) => name),
    ...(mcpServers?.named ?? []).map(({ name }) => name),
  ]);
}

/** False when a granting key is misspelt: then missing grants are not reported. */
export function grantsAreClear({ keys }: ReadAgent): boolean {
  return keys.misspelt('tools') === undefined && keys.misspelt('mcpServers') === undefined;
}

/** All tool names, for text outside of agents. Null when a misspelt `mcpServers` hides some. */
export function allToolNames(catalog: Catalog): ReadonlySet<string> | null {
  if ([...catalog.agents.values()].some(({ model }) => model.keys.misspelt('mcpServers'))) return null;
  const inline = [...catalog.agents.values()].flatMap(({ model }) => model.keys.values.mcpServers?.inline ?? []);
  const tools: Found<'tool'>[] = [...catalog.tools.values()];
  return new Set([
    ...BUILTIN_NAMES,
    ...tools.map(({ model }) => model.name),
    ...(catalog.servers?.model.servers ?? []).map(({ name }) => name),
    ...inline.map(({ name }) => name),
  ]);
}

/** `tool` of `tool.operation`. */
export function toolOf(grant: string): string {
  return grant.split('.')[0] ?? grant;
}
