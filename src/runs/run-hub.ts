import { DELTA_CHANNEL, EVENT_CHANNEL } from '../engine/index.js';
import type { Db } from '../platform/db/contract.js';
import { isRecord } from '../shared/json.js';

export interface Delta {
  readonly kind: 'delta' | 'output' | 'reset';
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly text: string;
}

interface Watcher {
  onEvents(): void;
  onDelta(delta: Delta): void;
}

interface Hub {
  readonly watchers: Map<string, Set<Watcher>>;
  stop: (() => void) | null;
}

const hubs = new WeakMap<Db, Hub>();

/** Watches a run. All streams of a process share one LISTEN connection. Returns a function that ends the watch. */
export function watchRun(db: Db, runId: string, watcher: Watcher): () => void {
  const hub = hubs.get(db) ?? { watchers: new Map(), stop: null };
  hubs.set(db, hub);
  const set = hub.watchers.get(runId) ?? new Set();
  set.add(watcher);
  hub.watchers.set(runId, set);
  hub.stop ??= listen(db, hub);
  return () => {
    set.delete(watcher);
    if (set.size === 0 && hub.watchers.get(runId) === set) hub.watchers.delete(runId);
    if (hub.watchers.size > 0) return;
    hub.stop?.();
    hub.stop = null;
  };
}

function listen(db: Db, hub: Hub): () => void {
  const stops = [
    db.listen(EVENT_CHANNEL, (runId) => {
      for (const watcher of hub.watchers.get(runId) ?? []) watcher.onEvents();
    }),
    db.listen(DELTA_CHANNEL, (payload) => {
      const delta: unknown = JSON.parse(payload);
      if (!isRecord(delta) || typeof delta.runId !== 'string') return;
      const { runId, ...rest } = delta;
      for (const watcher of hub.watchers.get(runId) ?? []) watcher.onDelta(rest as unknown as Delta);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
