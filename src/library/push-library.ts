import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import type { Caller } from '../shared/roles.js';
import type { SourceFile } from '../workspace/index.js';
import type { ReadyCommit } from '../workspaces/index.js';
import { changeShelf, type ShelfResult } from './change-shelf.js';

export interface ShelfPush {
  readonly commit: ReadyCommit;
  /** All files of that commit: what it leaves out goes. */
  readonly files: readonly SourceFile[];
  readonly message: string;
  /** Throws unless the push began from what is live. */
  readonly requireNewest: (gitCommit: string | null) => void;
  /** Takes the push's pack, in the change's transaction. */
  readonly also: (sql: Sql) => Promise<void>;
}

/** Replaces the library by what a commit holds; see `changeShelf` for what refuses it. */
export function pushLibrary(deps: Deps, caller: Caller, push: ShelfPush): Promise<ShelfResult> {
  const { commit, files, message, also } = push;
  return changeShelf(deps, caller, {
    ...{ action: 'library.push', target: 'main', via: 'push', message, commit, also },
    detail: { commit: commit.id },
    edit: (_live, { gitCommit }) => {
      push.requireNewest(gitCommit);
      return new Map(files.map(({ path, content }) => [path, content]));
    },
  });
}
