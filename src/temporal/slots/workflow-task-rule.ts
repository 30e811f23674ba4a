import type { SlotRule } from './slot-line.js';

const LEAST = 2;
const MOST = 40;
const FIRST = 8;
/** The server throws a workflow task away after 10 s. One that takes so long says that there are too many at once. */
const SLOW_MS = 2_000;
const QUICK_MS = 500;

/**
 * How many workflow tasks a worker takes at once. They share one thread, so on a starved machine each takes as long as
 * all of them together: the count is halved when one is slow, and grows by one for each quick one while others wait.
 */
export function workflowTaskRule(): SlotRule {
  let limit = FIRST;
  return {
    // Sticky and other tasks are polled for apart: each kind always has a slot, or one could keep the other out.
    admits: (slots, isSticky) => slots.length < limit || !slots.some((slot) => slot.isSticky === isSticky),
    onEnd: (ms, isFull) => {
      if (ms > SLOW_MS) limit = Math.max(LEAST, Math.floor(limit / 2));
      else if (ms < QUICK_MS && isFull) limit = Math.min(MOST, limit + 1);
    },
  };
}
