import type { Deps } from '../../deps.js';

export const EVENT_CHANNEL = 'run_event';
const GATHER_MS = 50;

const due = new Set<string>();
let timer: NodeJS.Timeout | null = null;

/**
 * Tells watchers that a run has new events. Not part of the write: NOTIFY takes a lock of the whole cluster at
 * commit, so the first word goes at once and those of the moment after it go together. A lost word costs a stream the
 * time to its next look. An end never waits: `now` tells all that is due.
 */
export function tellEvents(deps: Deps, runId: string, now = false): void {
  due.add(runId);
  if (timer !== null && !now) return;
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(() => {
    timer = null;
    if (due.size > 0) tell(deps);
  }, GATHER_MS);
  tell(deps);
}

function tell(deps: Deps): void {
  const runs = [...due];
  due.clear();
  deps.db
    .query({
      name: 'tell-events',
      text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, id) FROM unnest($2::text[]) id`,
      values: [EVENT_CHANNEL, runs],
    })
    .catch(() => undefined);
}
