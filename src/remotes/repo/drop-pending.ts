import type { PendingDropped } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import { audit, findWorkspace, type RecordAnswer } from '../../people/index.js';
import type { Caller } from '../../shared/roles.js';
import { endPending, PENDING, readPending } from '../pending/pending-rows.js';
import { noPendingPush } from './deploy-pending.js';
import { openAligned } from './read-repo.js';

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
