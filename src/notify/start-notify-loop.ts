import type { Deps } from '../deps.js';
import { type Queue, sweepRows } from '../platform/db/index.js';
import { expandNotices, NOTICE_BATCH } from './expand.js';
import { createSender } from './sender.js';

const SWEEP_EVERY_MS = 3_600_000;
const KEPT_DAYS = 30;
/** The maximum number of consecutive batches. */
const ROUNDS = 20;

/** Expands notices and delivers notifications. */
export function notifyQueues(deps: Deps): { readonly notice: Queue; readonly notification: Queue } {
  const sender = createSender(deps);
  return {
    notice: {
      nextDue: 'SELECT min(due_at) FROM notice',
      work: (signal) => expandAll(deps, signal),
    },
    notification: {
      nextDue: `SELECT min(due_at) FROM notification WHERE state = 'pending'`,
      work: (signal) => sender.start(signal),
      end: () => sender.idle(),
      sweep: { everyMs: SWEEP_EVERY_MS, run: () => sweep(deps) },
    },
  };
}

/** Returns how many notices it expanded. */
async function expandAll(deps: Deps, signal?: AbortSignal): Promise<number> {
  let all = 0;
  for (let round = 0; round < ROUNDS && !signal?.aborted; round += 1) {
    const count = await expandNotices(deps, signal);
    all += count;
    if (count < NOTICE_BATCH) break;
  }
  return all;
}

/** Processes all due notices and notifications, and waits for the deliveries. */
export async function notifyAll(deps: Deps): Promise<void> {
  const sender = createSender(deps);
  for (let round = 0; round < ROUNDS; round += 1) {
    const [noticed, begun] = [await expandAll(deps), await sender.start()];
    await sender.idle();
    if (noticed + begun === 0) return;
  }
}

async function sweep({ db }: Pick<Deps, 'db'>): Promise<void> {
  const isOld = `created_at < now() - $1 * interval '1 day' AND state <> 'pending'`;
  await sweepRows(db, 'notification', isOld, [KEPT_DAYS]);
}
