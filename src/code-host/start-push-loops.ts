import type { Deps } from '../deps.js';
import { repeat } from '../shared/repeat.js';
import { sweepPushes } from './push-rows.js';
import { takePushes } from './take-pushes.js';

const EVERY_MS = 500;
const AT_MOST_MS = 2_000;
const SWEEP_EVERY_MS = 60_000;

/** Deploys what code hosts pushed, beside each worker, and removes what no list shows any more. */
export function startPushLoops(deps: Deps): { close(): Promise<void> } {
  const loops = [
    repeat(deps.log, { name: 'code host pushes', everyMs: EVERY_MS, atLeastMs: AT_MOST_MS }, () => takePushes(deps)),
    repeat(deps.log, { name: 'old code host pushes', everyMs: SWEEP_EVERY_MS }, () => sweepPushes(deps.db)),
  ];
  return { close: async () => void (await Promise.all(loops.map((loop) => loop.end()))) };
}
