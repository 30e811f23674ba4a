import type { GitCaller } from '../people/index.js';
import { Refusal } from '../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../shared/roles.js';

/** A workspace, or the account's library, as a git remote, with the caller. */
export interface Remote {
  readonly id: string;
  readonly name: string;
  /** True for the account's library. */
  readonly isLibrary: boolean;
  readonly caller: Caller;
}

export type GitService = 'git-upload-pack' | 'git-receive-pack';

const NEEDS = { 'git-upload-pack': 'viewer', 'git-receive-pack': 'editor' } as const satisfies Record<GitService, Role>;

/** Refuses `forbidden` for a role that may not push. */
export function requirePusher({ caller, workspace }: GitCaller, service: GitService): void {
  const need = NEEDS[service];
  if (atLeast(caller.role, need)) return;
  const what = workspace === null ? `needs role ${need}` : 'needs a deploy key with access write';
  throw new Refusal('forbidden', `a push ${what}`, { need });
}
