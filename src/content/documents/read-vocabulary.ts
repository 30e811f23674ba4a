import type { VocabularyBody } from '../../contract/workspaces.js';
import { kindOfPath, OPTION_VOCABULARY, VOCABULARY } from '../../format/index.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Caller } from '../../shared/roles.js';
import { readLiveLibrary } from '../workspaces/library-tree.js';
import { readLiveTree } from '../workspaces/live-tree.js';
import { readInReach } from '../workspaces/prepare-tree.js';

const DOCUMENT = /^(?:knowledge|memory)\/.+\.md$/;

/** The names and options that an editor needs to complete and check a document of this workspace. */
export async function readVocabulary(
  deps: { readonly db: Sql },
  caller: Caller,
  { workspace }: { readonly workspace: string },
): Promise<VocabularyBody> {
  const { id } = await findWorkspace(deps.db, caller, workspace);
  const { index } = await readLiveTree(deps.db, id);
  const { livePaths } = await readInReach(deps.db, caller.tenant, id);
  const docs = new Map<string, { path: string; title: string; kind: string }>();
  const library = await readLiveLibrary(deps.db, caller.tenant);
  // The library's first, so that a nearer document of the same link replaces it.
  for (const { path, title } of (library.index?.entries ?? []).filter((entry) => DOCUMENT.test(entry.path)))
    docs.set(path, { path, title, kind: kindOf(path) });
  for (const path of livePaths) docs.set(path, { path, title: baseName(path), kind: kindOf(path) });
  for (const { path, title } of index?.documents ?? []) docs.set(path, { path, title, kind: kindOf(path) });
  for (const path of [...docs.keys()].flatMap(foldersOf)) docs.set(path, { path, title: path, kind: 'folder' });
  const sorted = [...docs.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { kinds: VOCABULARY, options: OPTION_VOCABULARY, docs: sorted };
}

function kindOf(path: string): string {
  const kind = kindOfPath(path);
  return kind === 'other' ? (path.split('/')[0] ?? kind) : kind;
}

function baseName(path: string): string {
  return (path.split('/').at(-1) ?? path).replace(/\.md$/, '');
}

/** Each folder above a path, as a link names it: without a slash at its end. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
