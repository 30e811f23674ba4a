import type { LibraryFileBody } from '../../contract/library.js';
import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { readLiveLibrary } from '../workspaces/library-tree.js';
import { readBlobs } from '../workspaces/read-blobs.js';
import { type LibraryKind, pathIn } from './kinds.js';

/** A file of the library with its bytes; the answer has them as text or base64. */
export type LibraryFile = Omit<LibraryFileBody, 'content' | 'contentBase64'> & { readonly content: Uint8Array };

export async function readLibraryFile(
  deps: { readonly db: Sql },
  caller: Pick<Caller, 'tenant'>,
  { kind, path: given }: { readonly kind: LibraryKind; readonly path: string },
): Promise<LibraryFile> {
  const path = pathIn(kind, given);
  const live = await readLiveLibrary(deps.db, caller.tenant);
  const entry = live.source.get(path);
  if (!entry) throw notFound('file');
  const { sha, size, by, at } = entry;
  const content = (await readBlobs(deps.db, live.id, [sha])).get(sha) ?? new Uint8Array();
  const issues = (live.index?.warnings ?? []).filter((issue) => issue.path === path);
  return { path, sha, size, writtenBy: by, updatedAt: at, content, issues, revision: live.revision };
}
