import { readFileChanges, requirePath } from '../../content/index.js';
import type { BranchChangeBody } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import { diffCommits, MAIN, mergeBase, objectSizes, type Repository, readObjects, readRef } from '../../git/index.js';
import { findWorkspace } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { needBranch } from './branch-refs.js';
import { apartOf, openAligned } from './read-repo.js';

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
  const apart = main === null ? { ahead: 0, behind: 0 } : await apartOf(repository, main, commit);
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
