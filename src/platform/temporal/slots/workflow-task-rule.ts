import type { WorkflowSlotInfo } from '@temporalio/worker';
import { FIRST_ADVANCE_MS, RUN_FLOW_LOCAL } from '../../../workflows/contract.js';
import type { SlotRule } from './slot-line.js';

const LEAST = 2;
const MOST = 40;
const FIRST = 8;
/** The server discards a workflow task after 10 s. A task this slow shows that there are too many at once. */
const SLOW_MS = 2_000;
const QUICK_MS = 500;

/**
 * How many workflow tasks a worker runs at once. They share one thread, so on a starved machine each takes as long as
 * all of them together: the limit is halved when one is slow, and grows by one for each quick one while others wait.
 * `waiting` is how many of them wait for a local activity, which they leave the thread free for.
 */
export function workflowTaskRule(waiting: () => number = () => 0): SlotRule<WorkflowSlotInfo> {
  let limit = FIRST;
  return {
    // Sticky and other tasks have separate pollers. Each kind always gets a slot, or one could starve the other.
    admits: (slots, isSticky) => slots.length - waiting() < limit || !slots.some((slot) => slot.isSticky === isSticky),
    onEnd: ({ ms, info, isFull }) => {
      if (ms > SLOW_MS + mayWaitMs(info)) limit = Math.max(LEAST, Math.floor(limit / 2));
      else if (ms < QUICK_MS && isFull) limit = Math.min(MOST, limit + 1);
    },
  };
}

/** How long the task may wait for a local activity. Only the first task of a run does, which is never sticky. */
function mayWaitMs(info: WorkflowSlotInfo | null): number {
  return info?.workflowType === RUN_FLOW_LOCAL && !info.isSticky ? FIRST_ADVANCE_MS : 0;
}
