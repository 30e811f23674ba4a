import type { Deps } from '../../deps.js';
import type { Db } from '../../platform/db/contract.js';
import { QUEUE_CHANNEL } from '../../platform/db/index.js';

export const EVENT_CHANNEL = 'run_event';
const GATHER_MS = 50;

interface Due {
  readonly runs: Set<string>;
  timer: NodeJS.Timeout | null;
}

const dueByDb = new WeakMap<Db, Due>();

/**
 * Notifies watchers that a run has new events, and the queues of due rows that those have caused (a time in a column is
 * rounded to the millisecond). It is not part of the write:
 * NOTIFY takes a lock of the whole cluster at commit. So the first notification goes at once and those of the next moment go together. After a lost one a stream
 * waits until its next poll. An end never waits: `now` sends all that are due.
 */
export function notifyStreams({ db }: Pick<Deps, 'db'>, runId: string, now = false): void {
  const due = dueByDb.get(db) ?? { runs: new Set(), timer: null };
  dueByDb.set(db, due);
  due.runs.add(runId);
  if (due.timer !== null && !now) return;
  if (due.timer !== null) clearTimeout(due.timer);
  due.timer = setTimeout(() => {
    due.timer = null;
    if (due.runs.size > 0) flush(db, due);
  }, GATHER_MS);
  flush(db, due);
}

function flush(db: Db, due: Due): void {
  const runs = [...due.runs];
  due.runs.clear();
  db.query({
    name: 'notify-streams',
    text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, id),
        (SELECT pg_notify($3, 'notice') WHERE EXISTS (SELECT 1 FROM notice WHERE due_at <= now() + interval '1 ms')),
        (SELECT pg_notify($3, 'event') WHERE EXISTS (SELECT 1 FROM raised_event WHERE due_at <= now() + interval '1 ms'))
      FROM unnest($2::text[]) id`,
    values: [EVENT_CHANNEL, runs, QUEUE_CHANNEL],
  }).catch(() => undefined);
}
