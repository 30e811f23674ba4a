import { clearErased, deleteRef, dropPreview, readFileChanges, requirePath } from '../../content/index.js';
import type { BranchChangeBody, BranchDeleted } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import { diffCommits, MAIN, mergeBase, objectSizes, type Repository, readObjects, readRef } from '../../git/index.js';
import { audit, findWorkspace, type RecordAnswer } from '../../people/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { branchRef, needBranch } from './branch-refs.js';
import { distanceOf, openAligned } from './read-repo.js';

/** A branch's net change against main, with line diffs; `path` limits it to one file. */
export async function readBranch(
  deps: Deps,
  caller: Caller,
  {
    workspace,
    branch,
    path,
  }: { readonly workspace: string; readonly branch: string; readonly path?: string | undefined },
): Promise<BranchChangeBody> {
  if (path !== undefined) requirePath(path);
  const { id } = await findWorkspace(deps.db, caller, workspace);
  const repository = await openAligned(deps, id);
  const main = await readRef(repository, MAIN);
  if (branch === 'main' && main !== null) return { branch, commit: main, base: main, ahead: 0, behind: 0, files: [] };
  const commit = await needBranch(deps.db, id, branch);
  const base = main === null ? null : await mergeBase(repository, main, commit);
  const apart = main === null ? { ahead: 0, behind: 0 } : await distanceOf(repository, main, commit);
  return { branch, commit, base, ...apart, files: await changesOf(repository, { base, commit, path }) };
}

async function changesOf(
  repository: Repository,
  { base, commit, path }: { base: string | null; commit: string; path: string | undefined },
): Promise<BranchChangeBody['files']> {
  const changed = await diffCommits(repository, base, commit);
  if (!changed)
    throw new Refusal('too_large', 'the branch changed more files than one answer can hold: fetch it with git');
  const wanted = changed.filter((file) => path === undefined || file.path === path);
  const sizes = await objectSizes(repository, [
    ...new Set(wanted.flatMap(({ before, after }) => [before, after].filter((sha) => sha !== null))),
  ]);
  return readFileChanges(wanted, {
    sizes: async () => sizes,
    read: (shas) =>
      readObjects(
        repository,
        shas,
        shas.reduce((sum, sha) => sum + (sizes.get(sha) ?? 0), 0),
      ),
  });
}

interface DeleteBranchInput {
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
