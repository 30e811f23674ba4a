import type { Catalog } from './catalog.js';

/** The named agents and all agents that they can delegate to, at any depth. */
export function agentsReachedFrom(catalog: Catalog, names: Iterable<string>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    for (const agent of catalog.agents.get(name)?.model.keys.values.agents ?? []) waiting.push(agent.name);
  }
  return reached;
}
