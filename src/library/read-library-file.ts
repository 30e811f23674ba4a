import type { Sql } from '../db/contract.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { Issue } from '../workspace/index.js';
import { type ManifestEntry, readBlobs, readLiveLibrary } from '../workspaces/index.js';
import { type LibraryKind, pathIn } from './kinds.js';

export interface LibraryFile {
  readonly path: string;
  readonly sha: string;
  readonly size: number;
  readonly writtenBy: ManifestEntry['by'];
  readonly updatedAt: string;
  readonly content: Uint8Array;
  readonly issues: readonly Issue[];
  readonly revision: string | null;
}

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
