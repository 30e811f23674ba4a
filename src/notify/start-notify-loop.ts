import { sweepRows } from '../db/index.js';
import type { Deps } from '../deps.js';
import { repeat } from '../shared/repeat.js';
import { deliverDue } from './deliver.js';
import { expandNotices } from './expand.js';

const EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 3_600_000;
const KEPT_DAYS = 30;
/** Rounds in a row, when there is much to do. */
const ROUNDS = 20;

/** Finds out who is told of what happened, and tells them, beside the worker. */
export function startNotifyLoop(deps: Deps): { close(): Promise<void> } {
  const loops = [
    repeat(deps.log, { name: 'notifications', everyMs: EVERY_MS, atLeastMs: EVERY_MS }, () => notifyAll(deps)),
    repeat(deps.log, { name: 'old notifications', everyMs: SWEEP_EVERY_MS }, () => sweep(deps)),
  ];
  return { close: async () => void (await Promise.all(loops.map((loop) => loop.end()))) };
}

/** All that is due now. */
export async function notifyAll(deps: Deps): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const [noticed, tried] = [await expandNotices(deps), await deliverDue(deps)];
    if (noticed + tried === 0) return;
  }
}

async function sweep({ db }: Pick<Deps, 'db'>): Promise<void> {
  const isOld = `created_at < now() - $1 * interval '1 day' AND state <> 'pending'`;
  await sweepRows(db, 'notification', isOld, [KEPT_DAYS]);
}
