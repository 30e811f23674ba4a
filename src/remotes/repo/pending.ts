import { liveRuns } from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { PendingDropped } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import { audit, findWorkspace, type RecordAnswer } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { applyPending } from '../pending/apply-pending.js';
import { endPending, PENDING, readPending } from '../pending/pending-rows.js';
import type { DeployRefInput } from './deploy-ref.js';
import { openAligned } from './read-repo.js';

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

function noPendingPush(): Refusal {
  return new Refusal('conflict', 'no push is pending: history shows what was applied or refused', {
    code: 'repo/nothing-waits',
  });
}

/** Discards the pending push, whether it waits for runs or was refused. Refuses `conflict` when no push is pending. */
export async function dropPending(
  deps: Deps,
  caller: Caller,
  { workspace, recordAnswer }: { readonly workspace: string; readonly recordAnswer?: RecordAnswer | undefined },
): Promise<PendingDropped> {
  const { id, answer } = await deps.db.transaction(async (sql) => {
    const { id: workspaceId } = await findWorkspace(sql, caller, workspace, 'update');
    const pending = await readPending(sql, workspaceId);
    if (!pending || !(await endPending(sql, pending))) throw noPendingPush();
    await audit(sql, caller, 'repo.drop-pending', workspace, { ref: PENDING, commit: pending.oid });
    const dropped: PendingDropped = { ok: true, dropped: pending.oid };
    await recordAnswer?.(sql, dropped);
    return { id: workspaceId, answer: dropped };
  });
  // A ref that cannot be removed from disk now is removed at the next access to the repository.
  await openAligned(deps, id).catch((err: unknown) =>
    deps.log.warn({ err, workspaceId: id }, 'failed to remove the ref of a pending push, will retry'),
  );
  return answer;
}
