import type { Deps } from '../../deps.js';

export const EVENT_CHANNEL = 'run_event';
const GATHER_MS = 20;

const due = new Set<string>();

/**
 * Tells watchers that a run has new events. Not part of the write: NOTIFY takes a lock of the whole cluster at
 * commit, so the runs of a moment are told together, and a lost word costs a stream the time to its next look.
 */
export function tellEvents(deps: Deps, runId: string): void {
  due.add(runId);
  if (due.size > 1) return;
  setTimeout(() => {
    const runs = [...due];
    due.clear();
    deps.db
      .query({
        name: 'tell-events',
        text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, id) FROM unnest($2::text[]) id`,
        values: [EVENT_CHANNEL, runs],
      })
      .catch(() => undefined);
  }, GATHER_MS);
}
