import type { SourceEntryBody, SourceFileBody, SourceTreeBody } from '../../contract/source.js';
import type { Deps } from '../../deps.js';
import { kindOfPath } from '../../format/index.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { keyCursors } from '../../shared/cursor.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { readBlobs, readLiveTree, visibleTree } from '../workspaces/live-tree.js';
import type { ManifestEntry } from '../workspaces/manifest.js';
import { requirePath } from './require-path.js';

const cursors = keyCursors('source');

/** A file of the source with its bytes; the answer has them as text or base64. */
export type SourceContent = Omit<SourceFileBody, 'content' | 'contentBase64'> & { readonly content: Uint8Array };

export interface ReadTreeInput {
  readonly workspace: string;
  /** The whole tree when left out. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The live tree with the agents' memory, sorted by path, from one revision. */
export async function readSourceTree(
  deps: Deps,
  caller: Caller,
  { workspace, limit = Number.MAX_SAFE_INTEGER, cursor }: ReadTreeInput,
): Promise<SourceTreeBody> {
  const { id } = await findWorkspace(deps.db, caller, workspace);
  const live = await readLiveTree(deps.db, id);
  const { page, next } = cursors.pageOfAll([...visibleTree(live)], { limit, cursor }, ([path]) => path);
  return { files: page.map(([path, entry]) => toEntry(path, entry)), next, revision: live.revision };
}

/** One file of the live tree, with the warnings of its deploy. */
export async function readSourceFile(
  deps: { readonly db: Sql },
  caller: Caller,
  { workspace, path }: { workspace: string; path: string },
): Promise<SourceContent> {
  const { id } = await findWorkspace(deps.db, caller, workspace);
  requirePath(path);
  const live = await readLiveTree(deps.db, id);
  const entry = visibleTree(live).get(path);
  if (!entry) throw notFound('file');
  const content = (await readBlobs(deps.db, id, [entry.sha])).get(entry.sha) ?? new Uint8Array();
  const warnings = live.memory.has(path) ? [] : (live.index?.warnings ?? []);
  return {
    ...toEntry(path, entry),
    content,
    issues: warnings.filter((issue) => issue.path === path),
    revision: live.revision,
  };
}

function toEntry(path: string, { sha, size, by, at }: ManifestEntry): SourceEntryBody {
  return { path, sha, size, kind: kindOfPath(path), writtenBy: by, updatedAt: at };
}
