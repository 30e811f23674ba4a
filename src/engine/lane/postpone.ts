import type { Stop } from '../../workflows/contract.js';
import { countWait } from '../clocks/count-active.js';
import type { HeldUp } from '../journal/claim.js';
import { deadlineOf } from './deadline.js';
import type { Lane } from './lane.js';

/** Tolerance for a timer that fires a moment early. */
const EARLY_MS = 250;

/**
 * Postpones the lane until `at` (epoch ms). The row stores the time, so a later advance, after a crash or in a new
 * execution, waits only for the remaining time.
 */
export async function postpone(lane: Lane, at: number): Promise<Stop> {
  lane.writer.memory = { ...lane.writer.memory, notBefore: at };
  await lane.writer.flush();
  return { kind: 'later', at };
}

/**
 * The same for a wait that is part of the step's work: the run shows the reason, and the wait counts for the timeouts
 * of the steps above, so it ends with the first of them at the latest.
 */
export async function postponeWork(lane: Lane, at: number, held: HeldUp): Promise<Stop> {
  let until = at;
  for (const clock of lane.run.clocks ?? []) {
    const leftMs = await countWait(lane.deps.db, clock, until);
    if (leftMs !== null) until = Math.min(until, lane.deps.clock.now() + Math.max(0, leftMs));
  }
  lane.writer.memory = { ...lane.writer.memory, held: { ...held, until } };
  return postpone(lane, until);
}

/**
 * The same for a wait that is not part of the step's work: the run shows it, and it counts for no timeout but the
 * run's.
 */
export async function postponeAside(lane: Lane, at: number, held: HeldUp): Promise<Stop> {
  const now = lane.deps.clock.now();
  const { since = now } = lane.writer.memory;
  lane.writer.memory = { ...lane.writer.memory, since: since + at - now, held: { ...held, until: at } };
  return postpone(lane, at);
}

/** The stop of a lane that is still postponed; null when it may continue. */
export function postponedStop(lane: Lane): Stop | null {
  const { notBefore = 0 } = lane.writer.memory;
  if (notBefore - lane.deps.clock.now() > EARLY_MS)
    return { kind: 'later', at: Math.min(notBefore, deadlineOf(lane) ?? notBefore) };
  const { held: _over, ...kept } = lane.writer.memory;
  lane.writer.memory = kept;
  return null;
}
