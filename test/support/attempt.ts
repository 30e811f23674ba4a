import type { Attempt } from '../../src/engine/advance.js';

/** A try at a turn, of a worker that stays, which nobody cuts. */
export function attemptOf(attempt: number): Attempt {
  return { attempt, cancelled: new AbortController().signal, isLeaving: () => false };
}
