import type { Health } from '../contract/health.js';
import type { EndpointHealth } from '../models/contract.js';

/** Merges the endpoint states of several processes: open when it is open for one, with the earliest `since`. */
export function joinEndpoints(lists: readonly (readonly EndpointHealth[])[]): readonly EndpointHealth[] {
  const joined = new Map<string, EndpointHealth>();
  for (const one of lists.flat()) {
    const other = joined.get(one.endpoint);
    joined.set(one.endpoint, other ? join(other, one) : one);
  }
  return [...joined.values()].sort((a, b) => a.since - b.since);
}

function join(a: EndpointHealth, b: EndpointHealth): EndpointHealth {
  return {
    endpoint: a.endpoint,
    open: a.open || b.open,
    since: Math.min(a.since, b.since),
    until: a.until === null || b.until === null ? (a.until ?? b.until) : Math.max(a.until, b.until),
    lastError: b.open && !a.open ? b.lastError : a.lastError,
  };
}

export function endpointViews(endpoints: readonly EndpointHealth[]): Pick<Health, 'circuits' | 'models'> {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    circuits: endpoints.flatMap(({ endpoint, until }) =>
      until === null ? [] : [{ provider: endpoint, until: iso(until) }],
    ),
    models: endpoints.map(({ endpoint, open, since, lastError }) => ({ endpoint, open, since: iso(since), lastError })),
  };
}
