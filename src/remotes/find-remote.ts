import { adoptAccountFile, libraryId, lockLibrary, requireWholeAccount } from '../content/index.js';
import type { Deps } from '../deps.js';
import { findWorkspace, type GitCaller, requireNoPreview } from '../people/index.js';
import { notFound, Refusal } from '../shared/refusal.js';
import { type GitService, type Remote, requirePusher } from './remote.js';

/** The name of the account's library as a remote, which is reserved for workspaces. */
const LIBRARY_REPO = '_library';

/**
 * The workspace of `/git/<tenant>/<repo>`, whose repo may end in `.git`. Refuses `not_found` alike for another
 * account's workspace, a missing one, one outside the caller's scope, and any other than a deploy key's own. Refuses
 * `forbidden` when the role is too low, and `conflict` for a push to a preview.
 */
export async function findRemote(
  deps: Deps,
  who: GitCaller,
  at: { readonly tenant: string; readonly repo: string; readonly service: GitService },
): Promise<Remote> {
  const { caller, workspace } = who;
  const name = /^([\w-]{1,255})(?:\.git)?$/.exec(at.repo)?.[1];
  if (name === undefined || at.tenant !== caller.tenant) throw notFound('repository');
  if (name === LIBRARY_REPO) return findLibrary(deps, who, at.service);
  const found = await findWorkspace(deps.db, caller, name).catch(asRepository);
  if (workspace !== null && workspace !== found.id) throw notFound('repository');
  requirePusher(who, at.service);
  if (at.service === 'git-receive-pack') await requireNoPreview(deps.db, found.id, 'files');
  // A deploy key sees no other workspace, whatever its creator may see.
  return {
    id: found.id,
    name,
    isLibrary: false,
    caller: workspace === null ? caller : { ...caller, workspaces: [name] },
  };
}

function asRepository(error: unknown): never {
  throw error instanceof Refusal && error.kind === 'not_found' ? notFound('repository') : error;
}

/**
 * The library of the caller's account. All members read it; editors with access to every workspace push to it. A deploy
 * key belongs to one workspace, so it finds no library.
 */
async function findLibrary(deps: Deps, { caller, workspace }: GitCaller, service: GitService): Promise<Remote> {
  if (workspace !== null) throw notFound('repository');
  requirePusher({ caller, workspace }, service);
  if (service === 'git-receive-pack') requireWholeAccount(caller);
  await adoptAccountFile(deps, caller.tenant);
  // Creates the row of an empty library if there is none yet.
  await deps.db.transaction((sql) => lockLibrary(sql, caller.tenant, 'share'));
  return { id: libraryId(caller.tenant), name: LIBRARY_REPO, isLibrary: true, caller };
}
