import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import { TOOL_TEST_SECONDS, TOOL_TEST_WAIT_SECONDS, type ToolTestActivities } from './contract.js';

const activities = proxyActivities<ToolTestActivities>({
  // The activity limits its call itself; the extra time is for opening and closing the sandbox.
  startToCloseTimeout: (TOOL_TEST_SECONDS + 15) * 1_000,
  scheduleToStartTimeout: TOOL_TEST_WAIT_SECONDS * 1_000,
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 1 },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** One call of a tool that a person tests. The waiting request reads the result from its row. */
export async function testTool({ id }: { readonly id: string }): Promise<void> {
  await activities.testTool(id);
}
