import { condition, continueAsNew, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { type ApplyPushInput, look, type PushActivities } from './contract.js';

const { applyPendingPush } = proxyActivities<PushActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** A signal may arrive just before its change is visible, so the workflow also polls, with growing pauses. */
const FIRST_POLL_MS = 5_000;
const LONGEST_POLL_MS = 600_000;

/** Applies a workspace's waiting push once its live runs have ended. The push and its outcome are in the database. */
export async function applyPush({ workspaceId, looks = 0 }: ApplyPushInput): Promise<void> {
  let signalled = false;
  setHandler(look, () => {
    signalled = true;
  });
  for (let count = looks; ; count += 1) {
    signalled = false;
    const state = await applyPendingPush(workspaceId);
    // A signal that arrived meanwhile may be for another push.
    if (state === 'done' && !signalled) return;
    if (signalled) continue;
    await condition(() => signalled, Math.min(LONGEST_POLL_MS, FIRST_POLL_MS * 2 ** Math.min(count, 10)));
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof applyPush>({ workspaceId, looks: count + 1 });
  }
}
