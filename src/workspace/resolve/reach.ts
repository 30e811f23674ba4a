import type { Catalog } from './catalog.js';

/** The agents named and all those that they may hand work to, at any depth. */
export function agentsReachedFrom(catalog: Catalog, names: Iterable<string>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    waiting.push(...(catalog.agents.get(name)?.model.keys.values.agents ?? []).map((agent) => agent.name));
  }
  return reached;
}
