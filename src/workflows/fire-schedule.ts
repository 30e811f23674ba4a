import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { FlowRef, ScheduleActivities } from './contract.js';

const activities = proxyActivities<ScheduleActivities>({
  // It writes rows and ends; with the database away it is made again until that is back.
  startToCloseTimeout: '1 minute',
  // A worker that dies over it costs these seconds, and not the minute.
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/** A schedule's moment has come: what is due is in rows, and what is done about it too. */
export async function fireSchedule(ref: FlowRef): Promise<void> {
  const { startTime, searchAttributes } = workflowInfo();
  const [due] = searchAttributes.TemporalScheduledStartTime ?? [];
  // No clock is right: Temporal's word that a moment has come counts, however late it is by ours.
  const at = due instanceof Date ? due.getTime() : 0;
  await activities.fireSchedule(ref, Math.max(at, startTime.getTime()));
}
