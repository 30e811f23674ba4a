import { adoptAccountFile, libraryId, lockLibrary, requireWholeAccount } from '../content/index.js';
import type { Deps } from '../deps.js';
import type { GitCaller } from '../people/index.js';
import { notFound } from '../shared/refusal.js';
import { type GitService, type Remote, requirePusher } from './remote.js';

/** The name of the account's library as a remote, which is reserved for workspaces. */
export const LIBRARY_REPO = '_library';

/**
 * The library of the caller's account. All members read it; editors with access to every workspace push to it. A deploy
 * key belongs to one workspace, so it finds no library.
 */
export async function findLibrary(deps: Deps, { caller, workspace }: GitCaller, service: GitService): Promise<Remote> {
  if (workspace !== null) throw notFound('repository');
  requirePusher({ caller, workspace }, service);
  if (service === 'git-receive-pack') requireWholeAccount(caller);
  await adoptAccountFile(deps, caller.tenant);
  // Creates the row of an empty library if there is none yet.
  await deps.db.transaction((sql) => lockLibrary(sql, caller.tenant, 'share'));
  return { id: libraryId(caller.tenant), name: LIBRARY_REPO, isLibrary: true, caller };
}
