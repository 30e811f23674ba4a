import { liveRuns } from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { applyPending } from '../pending/apply-pending.js';
import type { DeployRefInput } from './deploy-ref.js';

/**
 * Applies the pending push now, as its pusher; with `force` even while runs are live. Tries a refused push again with
 * the current live revision.
 */
export async function deployPending(
  deps: Deps,
  caller: Caller,
  { workspaceId, workspace, force, recordAnswer }: DeployRefInput & { readonly workspaceId: string },
): Promise<DeployResultBody> {
  await audit(deps.db, caller, 'repo.deploy-pending', workspace, { force });
  const applied = await applyPending(deps, workspaceId, { overLiveRuns: force, retry: true, recordAnswer });
  if (applied.kind === 'applied') return applied.result;
  if (applied.kind === 'refused') throw applied.refusal;
  if (applied.kind === 'none') throw noPendingPush();
  const { count, runs } = await liveRuns(deps.db, workspaceId);
  throw new Refusal('conflict', 'runs are live: wait for their end, stop them, or say force: true', {
    code: 'deploy/live-runs',
    live: count,
    runs,
  });
}

export function noPendingPush(): Refusal {
  return new Refusal('conflict', 'no push is pending: history shows what was applied or refused', {
    code: 'repo/nothing-waits',
  });
}
