import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../src/platform/db/index.js';

export interface Pace {
  readonly lookMs: number;
  /** A view may also show rows of other runs, such as who is ahead in a queue: those do not change the mark. */
  readonly atMostMs: number;
}

const USUAL: Pace = { lookMs: 25, atMostMs: 1_000 };

/** Looks at a run that has not changed for a while are further apart. */
const LONGEST_LOOK_MS = 100;

/** The last transaction that wrote a run's rows of each table that its view shows, and how many rows there are. */
const MARK = `SELECT concat_ws(' ', r.xmin, ${[
  'step t WHERE t.run_id = r.id',
  'park t WHERE t.run_id = r.id',
  'lane t WHERE t.run_id = r.id',
  'slot_lane t WHERE t.run_id = r.id',
  'run t WHERE t.root_id = r.root_id AND t.parent_id = r.id',
]
  .map((rows) => `(SELECT concat(count(*), ':', max(t.xmin::text::bigint)) FROM ${rows})`)
  .join(', ')}, (SELECT max(seq) FROM run_event e WHERE e.run_id = r.id)) AS mark FROM run r WHERE r.id = $1`;

/** Changes with the run: one query, while a view costs many. Null when there is no such run, or no database to ask. */
export async function markOf(db: Pick<Db, 'query'>, run: string): Promise<string | null> {
  const rows = await db.query<{ mark: string }>({ name: 'run-mark', text: MARK, values: [run] }).catch(() => []);
  return rows[0]?.mark ?? null;
}

/** Until the run may show something else than with that mark. */
export async function untilNews(
  db: Pick<Db, 'query'>,
  { run, mark }: { readonly run: string; readonly mark: string | null },
  { lookMs, atMostMs }: Pace = USUAL,
): Promise<void> {
  const since = Date.now();
  let now: string | null;
  do {
    const waited = Date.now() - since;
    await sleep(Math.min(LONGEST_LOOK_MS, Math.max(lookMs, waited / 5)));
    now = await markOf(db, run);
  } while (Date.now() < since + atMostMs && now === mark);
}
