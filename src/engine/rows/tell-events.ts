import type { Db } from '../../db/contract.js';
import type { Deps } from '../../deps.js';

export const EVENT_CHANNEL = 'run_event';
const GATHER_MS = 50;

interface Due {
  readonly runs: Set<string>;
  timer: NodeJS.Timeout | null;
}

const dues = new WeakMap<Db, Due>();

/**
 * Tells watchers that a run has new events. Not part of the write: NOTIFY takes a lock of the whole cluster at
 * commit, so the first word goes at once and those of the moment after it go together. A lost word costs a stream the
 * time to its next look. An end never waits: `now` tells all that is due.
 */
export function tellEvents({ db }: Pick<Deps, 'db'>, runId: string, now = false): void {
  const due = dues.get(db) ?? { runs: new Set(), timer: null };
  dues.set(db, due);
  due.runs.add(runId);
  if (due.timer !== null && !now) return;
  if (due.timer !== null) clearTimeout(due.timer);
  due.timer = setTimeout(() => {
    due.timer = null;
    if (due.runs.size > 0) tell(db, due);
  }, GATHER_MS);
  tell(db, due);
}

function tell(db: Db, due: Due): void {
  const runs = [...due.runs];
  due.runs.clear();
  db.query({
    name: 'tell-events',
    text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, id) FROM unnest($2::text[]) id`,
    values: [EVENT_CHANNEL, runs],
  }).catch(() => undefined);
}
