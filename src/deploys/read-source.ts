import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { keyCursors } from '../shared/cursor.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { type FileKind, type Issue, kindOfPath } from '../workspace/index.js';
import {
  findWorkspace,
  type ManifestEntry,
  readBlobs,
  readLiveTree,
  visibleTree,
  type Writer,
} from '../workspaces/index.js';
import { requirePath } from './require-path.js';

export interface SourceEntry {
  readonly path: string;
  /** The git object id of its blob. */
  readonly sha: string;
  readonly size: number;
  readonly kind: FileKind;
  readonly writtenBy: Writer;
  readonly updatedAt: string;
}

const cursors = keyCursors('source');

export interface SourceTree {
  readonly files: readonly SourceEntry[];
  readonly next: string | null;
  readonly revision: string | null;
}

export interface SourceContent extends SourceEntry {
  readonly content: Uint8Array;
  readonly issues: readonly Issue[];
  readonly revision: string | null;
}

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
): Promise<SourceTree> {
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

function toEntry(path: string, { sha, size, by, at }: ManifestEntry): SourceEntry {
  return { path, sha, size, kind: kindOfPath(path), writtenBy: by, updatedAt: at };
}
