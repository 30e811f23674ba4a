import { audit } from '../accounts/index.js';
import type { DeployResult } from '../deploys/index.js';
import type { Deps } from '../deps.js';
import { applyPending, PENDING } from '../remotes/index.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { liveRuns } from '../workspaces/index.js';
import type { DeployRefInput } from './deploy-ref.js';

/** Applies the push that waits, now, as who pushed it; with `force` over the runs that it waits for. */
export async function deployPending(
  deps: Deps,
  caller: Caller,
  { workspaceId, workspace, force, once }: DeployRefInput & { readonly workspaceId: string },
): Promise<DeployResult> {
  await audit(deps.db, caller, 'repo.deploy-pending', workspace, { force });
  const applied = await applyPending(deps, workspaceId, { overLiveRuns: force, once });
  if (applied.kind === 'applied') return applied.result;
  if (applied.kind === 'refused') throw applied.refusal;
  if (applied.kind === 'none')
    throw new Refusal('conflict', `no push waits: fetch ${PENDING} to see what became of it, and push again`, {
      code: 'repo/nothing-waits',
    });
  const { count, runs } = await liveRuns(deps.db, workspaceId);
  throw new Refusal('conflict', 'the push waits for live runs: wait for their end, stop them, or say force: true', {
    code: 'deploy/live-runs',
    live: count,
    runs,
  });
}
