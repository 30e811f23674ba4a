import type { Deps } from '../deps.js';
import type { Queue } from '../platform/db/index.js';
import { sweepBursts } from './bursts.js';
import { sweepDeliveries } from './deliveries.js';
import { sweepEvents } from './sweep-events.js';

const SWEEP_EVERY_MS = 60_000;

/** Starts the runs of quiet bursts and of raised events. */
export function triggerQueues(deps: Deps): { readonly burst: Queue; readonly event: Queue } {
  return {
    burst: {
      nextDue: 'SELECT min(due_at) FROM burst',
      work: (signal) => sweepBursts(deps, signal),
      sweep: { everyMs: SWEEP_EVERY_MS, run: () => sweepDeliveries(deps.db) },
    },
    event: { nextDue: 'SELECT min(due_at) FROM raised_event', work: (signal) => sweepEvents(deps, signal) },
  };
}
