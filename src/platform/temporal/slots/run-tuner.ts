import type { ActivitySlotInfo, WorkerTuner, WorkflowSlotInfo } from '@temporalio/worker';
import { activityRule } from './activity-rule.js';
import { createSlotLine } from './slot-line.js';
import { workflowTaskRule } from './workflow-task-rule.js';

const POLL_EVERY_MS = 100;

/** Limits the concurrent tasks of a worker of runs by the CPU that this process gets. */
export function createRunTuner(): { readonly tuner: WorkerTuner; watchUntil(isOver: () => boolean): void } {
  const now = () => performance.now();
  const workflowTasks = createSlotLine<WorkflowSlotInfo>(workflowTaskRule(), now);
  const rule = activityRule();
  const activities = createSlotLine<ActivitySlotInfo>(rule, now);
  return {
    tuner: {
      workflowTaskSlotSupplier: workflowTasks.supplier,
      activityTaskSlotSupplier: activities.supplier,
      localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
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
