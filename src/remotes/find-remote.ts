import type { GitCaller } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { notFound, Refusal } from '../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../shared/roles.js';
import { findWorkspace, requireNoPreview } from '../workspaces/index.js';

/** A workspace as a git remote, and who has come to it. */
export interface Remote {
  readonly id: string;
  readonly name: string;
  readonly caller: Caller;
}

export type GitService = 'git-upload-pack' | 'git-receive-pack';

const NEEDS = { 'git-upload-pack': 'viewer', 'git-receive-pack': 'editor' } as const satisfies Record<GitService, Role>;

/**
 * The workspace of `/git/<tenant>/<repo>`, whose repo ends in `.git`. A foreign one, a missing one, one outside the
 * caller's scope and any but a deploy key's own refuse alike. Refuses `forbidden` for a role that may not, and
 * `conflict` for a push to a preview.
 */
export async function findRemote(
  deps: Pick<Deps, 'db'>,
  { caller, workspace }: GitCaller,
  at: { readonly tenant: string; readonly repo: string; readonly service: GitService },
): Promise<Remote> {
  const name = /^([\w-]{1,255})\.git$/.exec(at.repo)?.[1];
  if (name === undefined || at.tenant !== caller.tenant) throw notFound('repository');
  const found = await findWorkspace(deps.db, caller, name).catch(asRepository);
  if (workspace !== null && workspace !== found.id) throw notFound('repository');
  const need = NEEDS[at.service];
  if (!atLeast(caller.role, need)) {
    const what = workspace === null ? `needs role ${need}` : 'needs a deploy key with access write';
    throw new Refusal('forbidden', `a push ${what}`, { need });
  }
  if (at.service === 'git-receive-pack') await requireNoPreview(deps.db, found.id, 'files');
  // A deploy key sees no other workspace, whatever its minter does.
  return { id: found.id, name, caller: workspace === null ? caller : { ...caller, workspaces: [name] } };
}

function asRepository(error: unknown): never {
  throw error instanceof Refusal && error.kind === 'not_found' ? notFound('repository') : error;
}
