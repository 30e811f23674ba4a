import { clearErased, deleteRef, dropPreview } from '../../content/index.js';
import type { BranchDeleted } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import { audit, findWorkspace, type RecordAnswer } from '../../people/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { branchRef } from './branch-refs.js';
import { openAligned } from './read-repo.js';

export interface DeleteBranchInput {
  readonly workspace: string;
  readonly branch: string;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Deletes a branch, and its preview with all its data. */
export async function deleteBranch(
  deps: Deps,
  caller: Caller,
  { workspace, branch, recordAnswer }: DeleteBranchInput,
): Promise<BranchDeleted> {
  if (branch === 'main')
    throw new Refusal('refused', 'branch: main is the live branch and cannot be deleted', { code: 'repo/main' });
  const { id, answer, erased } = await deps.db.transaction(async (sql) => {
    const { id: workspaceId } = await findWorkspace(sql, caller, workspace, 'share');
    const gone = await dropPreview(sql, caller, { workspace, branch });
    if (!(await deleteRef(sql, { workspaceId, name: branchRef(branch) }))) throw notFound('branch');
    await audit(sql, caller, 'repo.delete-branch', workspace, { branch });
    const deleted: BranchDeleted = { ok: true, branch, preview: gone?.name ?? null };
    await recordAnswer?.(sql, deleted);
    return { id: workspaceId, answer: deleted, erased: gone };
  });
  if (erased) await clearErased(deps, erased);
  // A ref that cannot be removed from disk now is removed at the next access to the repository.
  await openAligned(deps, id).catch((error: unknown) =>
    deps.log.warn({ err: error, workspaceId: id }, 'failed to remove the ref of a branch, will retry'),
  );
  return answer;
}
