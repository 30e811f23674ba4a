import { proxyActivities } from '@temporalio/workflow';

const { callModel } = proxyActivities<{ callModel(key: string): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** Bare Temporal, as one would write it first: an activity a step, no rows of its own. */
export async function steps(key: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await callModel(`${key}/${n}`);
}
