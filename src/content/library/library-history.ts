import type { Deps } from '../../deps.js';
import type { Caller } from '../../shared/roles.js';
import { listChangesOf } from '../deploys/list-changes.js';
import { readChangeOf } from '../deploys/read-change.js';
import { libraryId } from '../workspaces/library-tree.js';

/** The history of the library, newest first. */
export function listLibraryChanges(
  deps: Deps,
  caller: Caller,
  input: { readonly path?: string | undefined; readonly limit: number; readonly cursor?: string | undefined },
) {
  return listChangesOf(deps, libraryId(caller.tenant), input);
}

/** One change of the library with its files. */
export function readLibraryChange(
  deps: Deps,
  caller: Caller,
  input: { readonly id: string; readonly path?: string | undefined },
) {
  return readChangeOf(deps, libraryId(caller.tenant), input);
}
