import { audit, type RecordAnswer } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { endPending, PENDING, readPending } from '../remotes/index.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import { noPendingPush } from './deploy-pending.js';
import { openAligned } from './read-repo.js';

export interface DroppedPending {
  readonly ok: true;
  /** The commit of the push, which no ref names from now on. */
  readonly dropped: string;
}

/** Gives up the pending push, whether it waits for runs or was refused. Refuses `conflict` when there is none. */
export async function dropPending(
  deps: Deps,
  caller: Caller,
  { workspace, recordAnswer }: { readonly workspace: string; readonly recordAnswer?: RecordAnswer | undefined },
): Promise<DroppedPending> {
  const { id, answer } = await deps.db.transaction(async (sql) => {
    const { id: workspaceId } = await findWorkspace(sql, caller, workspace, 'update');
    const pending = await readPending(sql, workspaceId);
    if (!pending || !(await endPending(sql, pending))) throw noPendingPush();
    await audit(sql, caller, 'repo.drop-pending', workspace, { ref: PENDING, commit: pending.oid });
    const dropped: DroppedPending = { ok: true, dropped: pending.oid };
    await recordAnswer?.(sql, dropped);
    return { id: workspaceId, answer: dropped };
  });
  // A ref that cannot be removed from the disk now is removed at the next touch.
  await openAligned(deps, id).catch((err: unknown) =>
    deps.log.warn({ err, workspaceId: id }, 'the ref of a pending push could not be removed yet'),
  );
  return answer;
}
