import { condition, continueAsNew, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { type ApplyPushInput, look, type PushActivities } from './contract.js';

const { applyPendingPush } = proxyActivities<PushActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** A word may come just before what it tells of is to be seen: it looks again by itself, ever less often. */
const FIRST_LOOK_MS = 5_000;
const LAST_LOOK_MS = 600_000;

/** Applies a workspace's waiting push once its live runs have ended. What waits, and what came of it, is in the rows. */
export async function applyPush({ workspaceId, looks = 0 }: ApplyPushInput): Promise<void> {
  let told = false;
  setHandler(look, () => {
    told = true;
  });
  for (let count = looks; ; count += 1) {
    told = false;
    const state = await applyPendingPush(workspaceId);
    // A word that came meanwhile may be of another push.
    if (state === 'done' && !told) return;
    if (told) continue;
    await condition(() => told, Math.min(LAST_LOOK_MS, FIRST_LOOK_MS * 2 ** Math.min(count, 10)));
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof applyPush>({ workspaceId, looks: count + 1 });
  }
}
