import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../src/platform/db/index.js';

export interface Pace {
  readonly lookMs: number;
  /** Not all that a run shows comes with an event of it. */
  readonly atMostMs: number;
}

const USUAL: Pace = { lookMs: 25, atMostMs: 100 };

/** The number of a run's last event; null when there is none, or no database to ask. */
export async function lastEvent(db: Pick<Db, 'query'>, run: string): Promise<number | null> {
  const rows = await db
    .query<{ seq: number | null }>('SELECT max(seq) AS seq FROM run_event WHERE run_id = $1', [run])
    .catch(() => []);
  return rows[0]?.seq ?? null;
}

/** Until the run may show something else than after that event: to look at a whole run costs many queries, this costs one. */
export async function untilNews(
  db: Pick<Db, 'query'>,
  { run, last }: { readonly run: string; readonly last: number | null },
  { lookMs, atMostMs }: Pace = USUAL,
): Promise<void> {
  const until = Date.now() + atMostMs;
  do await sleep(lookMs);
  while (Date.now() < until && (await lastEvent(db, run)) === last);
}
