import type { Stop } from '../../workflows/contract.js';
import { deadlineOf } from './deadline.js';
import type { Lane } from './lane.js';

/** A timer that fires a moment early is early enough. */
const EARLY_MS = 250;

/**
 * The lane goes on at `at` (epoch ms) and not before. The row keeps that: whoever advances the lane earlier, after a
 * crash or in a new execution, waits for the rest of it.
 */
export async function putOff(lane: Lane, at: number): Promise<Stop> {
  lane.writer.memory = { ...lane.writer.memory, notBefore: at };
  await lane.writer.flush();
  return { kind: 'later', at };
}

/** Where a lane stops again that is not to go on yet; null when it is. */
export function stillPutOff(lane: Lane): Stop | null {
  const { notBefore = 0 } = lane.writer.memory;
  if (notBefore - lane.deps.clock.now() <= EARLY_MS) return null;
  return { kind: 'later', at: Math.min(notBefore, deadlineOf(lane) ?? notBefore) };
}
