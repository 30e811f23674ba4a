import type { ActivitySlotInfo, LocalActivitySlotInfo, WorkerTuner, WorkflowSlotInfo } from '@temporalio/worker';
import { activityRule } from './activity-rule.js';
import type { LocalSlots } from './local-slots.js';
import { createSlotLine, type SlotLine } from './slot-line.js';
import { workflowTaskRule } from './workflow-task-rule.js';

const POLL_EVERY_MS = 100;

/** More than there are workflow tasks, each of which has at most one. Its activity decides whether it has room. */
const MOST_LOCAL = 200;

/**
 * Limits the concurrent tasks of a worker of runs by the CPU that this process gets. `localSlots` are taken from its
 * activity slots.
 */
export function createRunTuner(localSlots: LocalSlots): {
  readonly tuner: WorkerTuner;
  watchUntil(isOver: () => boolean): void;
} {
  const now = () => performance.now();
  const local = createSlotLine<LocalActivitySlotInfo>({ admits: (slots) => slots.length < MOST_LOCAL }, now);
  const workflowTasks = createSlotLine<WorkflowSlotInfo>(workflowTaskRule(local.used), now);
  const rule = activityRule();
  const activities = createSlotLine<ActivitySlotInfo>(rule, now);
  localSlots.use(activities.tryReserve);
  return {
    tuner: {
      workflowTaskSlotSupplier: workflowTasks.supplier,
      activityTaskSlotSupplier: activities.supplier,
      localActivityTaskSlotSupplier: onUse(local, workflowTasks.serve),
      nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
    },
    watchUntil(isOver) {
      let due = now() + POLL_EVERY_MS;
      const timer = setInterval(() => {
        if (isOver()) return clearInterval(timer);
        rule.look(now() - due);
        due = now() + POLL_EVERY_MS;
        activities.serve();
      }, POLL_EVERY_MS);
      timer.unref();
    },
  };
}

/** Calls `after` when a task begins to use a slot. */
function onUse({ supplier }: SlotLine<LocalActivitySlotInfo>, after: () => void): typeof supplier {
  return {
    ...supplier,
    markSlotUsed: (use) => {
      supplier.markSlotUsed(use);
      after();
    },
  };
}
