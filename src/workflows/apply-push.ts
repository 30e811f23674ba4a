import { condition, continueAsNew, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { type ApplyPushInput, look, type PushActivities } from './contract.js';

const { applyPendingPush } = proxyActivities<PushActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** A signal may arrive just before its change is visible, so the workflow also looks by itself, with growing pauses. */
const FIRST_LOOK_MS = 5_000;
const LAST_LOOK_MS = 600_000;

/** Applies a workspace's waiting push once its live runs have ended. The push and its outcome are in the database. */
export async function applyPush({ workspaceId, looks = 0 }: ApplyPushInput): Promise<void> {
  let told = false;
  setHandler(look, () => {
    told = true;
  });
  for (let count = looks; ; count += 1) {
    told = false;
    const state = await applyPendingPush(workspaceId);
    // A signal that arrived meanwhile may be for another push.
    if (state === 'done' && !told) return;
    if (told) continue;
    await condition(() => told, Math.min(LAST_LOOK_MS, FIRST_LOOK_MS * 2 ** Math.min(count, 10)));
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof applyPush>({ workspaceId, looks: count + 1 });
  }
}
