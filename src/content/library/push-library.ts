import type { Deps } from '../../deps.js';
import type { SourceFile } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Caller } from '../../shared/roles.js';
import type { ReadyCommit } from '../workspaces/store-revision.js';
import { changeLibrary, type LibraryResult } from './change-library.js';

export interface LibraryPush {
  readonly commit: ReadyCommit;
  /** All files of that commit. Other files are removed. */
  readonly files: readonly SourceFile[];
  readonly message: string;
  /** Throws unless the push started from the live commit. */
  readonly requireNewest: (gitCommit: string | null) => void;
  /** Links the push's pack, in the change's transaction. */
  readonly inTransaction: (sql: Sql) => Promise<void>;
}

/** Replaces the library by the files of a commit. Refuses as `changeLibrary` does. */
export function pushLibrary(deps: Deps, caller: Caller, push: LibraryPush): Promise<LibraryResult> {
  const { commit, files, message, inTransaction } = push;
  return changeLibrary(deps, caller, {
    ...{ action: 'library.push', target: 'main', via: 'push', message, commit, inTransaction },
    detail: { commit: commit.id },
    edit: (_live, { gitCommit }) => {
      push.requireNewest(gitCommit);
      return new Map(files.map(({ path, content }) => [path, content]));
    },
  });
}
