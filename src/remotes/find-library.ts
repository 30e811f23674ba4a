import type { GitCaller } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { adoptAccountFile, requireWholeAccount } from '../library/index.js';
import { notFound } from '../shared/refusal.js';
import { libraryId, lockLibrary } from '../workspaces/index.js';
import { type GitService, type Remote, requirePusher } from './remote.js';

/** The account's library as a remote; a workspace has no such name. */
export const LIBRARY_REPO = '_library';

/**
 * The library of the caller's account. Everybody of the account reads it; editors push to it who are narrowed to no
 * workspace. A deploy key is for its one workspace, and finds none here.
 */
export async function findLibrary(deps: Deps, { caller, workspace }: GitCaller, service: GitService): Promise<Remote> {
  if (workspace !== null) throw notFound('repository');
  requirePusher({ caller, workspace }, service);
  if (service === 'git-receive-pack') requireWholeAccount(caller);
  await adoptAccountFile(deps, caller.tenant);
  // An account that never had a library has an empty one.
  await deps.db.transaction((sql) => lockLibrary(sql, caller.tenant, 'share'));
  return { id: libraryId(caller.tenant), name: LIBRARY_REPO, isLibrary: true, caller };
}
