import type { Deps } from '../deps.js';
import { repeat } from '../shared/repeat.js';
import { sweepBursts } from './bursts.js';
import { sweepDeliveries } from './delivery-rows.js';
import { sweepEvents } from './sweep-events.js';

const SWEEP_BURSTS_EVERY_MS = 500;
const SWEEP_EVENTS_EVERY_MS = 500;
const SWEEP_DELIVERIES_EVERY_MS = 60_000;
const SWEEP_AT_MOST_MS = 5_000;

export interface TriggerLoops {
  /** Ends the loops; resolves when none of them is active. */
  close(): Promise<void>;
}

/** The loops beside each worker that start runs of quiet bursts and raised events, and delete old deliveries. */
export function startTriggerLoops(deps: Deps): TriggerLoops {
  const loops = [
    repeat(deps.log, { name: 'bursts', everyMs: SWEEP_BURSTS_EVERY_MS, atLeastMs: SWEEP_AT_MOST_MS }, () =>
      sweepBursts(deps),
    ),
    repeat(deps.log, { name: 'events', everyMs: SWEEP_EVENTS_EVERY_MS, atLeastMs: SWEEP_AT_MOST_MS }, () =>
      sweepEvents(deps),
    ),
    repeat(deps.log, { name: 'deliveries', everyMs: SWEEP_DELIVERIES_EVERY_MS }, () => sweepDeliveries(deps.db)),
  ];
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.end()));
    },
  };
}
