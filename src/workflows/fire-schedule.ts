import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { FlowRef, ScheduleActivities } from './contract.js';

const activities = proxyActivities<ScheduleActivities>({
  // The activity only writes rows. While the database is unavailable, it is retried.
  startToCloseTimeout: '1 minute',
  // If its worker dies, the next attempt starts after these seconds instead of a minute.
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/** Fires a schedule at its time. What is due, and the outcome, are in the database. */
export async function fireSchedule(ref: FlowRef): Promise<void> {
  const { startTime, searchAttributes } = workflowInfo();
  const [due] = searchAttributes.TemporalScheduledStartTime ?? [];
  // Clocks differ: a time that Temporal reports as reached counts as reached, even if our clock is behind.
  const at = due instanceof Date ? due.getTime() : 0;
  await activities.fireSchedule(ref, Math.max(at, startTime.getTime()));
}
