import type { Issue, LibraryEntry, SharedFiles } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Lru } from '../../shared/lru.js';
import { readBlobs } from './live-tree.js';
import { type ManifestEntry, parseManifest, type Tree } from './manifest.js';

/**
 * The id of the account's library. Its revisions, blobs and changes are rows of the same tables as those of workspaces,
 * so that it has a history and a repository. It has no row in `workspace`, so no list or count of workspaces includes it.
 */
export function libraryId(tenant: string): string {
  return `library.${tenant}`;
}

/** The account's own file at the library's root. Workspaces and runs do not read it. */
export const ACCOUNT_FILE = 'AGENTS.md';

/** The live state of the library. */
export interface LiveLibrary {
  readonly id: string;
  /** 0 while the library is empty. */
  readonly seq: number;
  readonly revision: string | null;
  readonly gitCommit: string | null;
  readonly source: Tree;
  readonly index: LibraryIndex | null;
}

/** Data that readers often need of a library's revision, computed once. */
export interface LibraryIndex {
  readonly entries: readonly LibraryEntry[];
  readonly warnings: readonly Issue[];
}

/** The live library for the checker. */
export interface LiveShared extends SharedFiles {
  readonly seq: number;
}

export async function readLiveLibrary(sql: Sql, tenant: string): Promise<LiveLibrary> {
  const id = libraryId(tenant);
  const [row] = await sql.query<{
    seq: number;
    revision: string;
    gitCommit: string;
    manifest: Readonly<Record<string, ManifestEntry>>;
    index: LibraryIndex;
  }>({
    name: 'read-live-library',
    text: `SELECT r.seq, r.id AS revision, r.git_commit AS "gitCommit", r.manifest, r.index
      FROM library l JOIN revision r ON r.workspace_id = $2 AND r.seq = l.live_seq WHERE l.tenant_id = $1`,
    values: [tenant, id],
  });
  if (!row) return { id, seq: 0, revision: null, gitCommit: null, source: new Map(), index: null };
  return { ...row, id, source: parseManifest(row.manifest) };
}

/** A cache of libraries, of at most 16 MiB each: every edit of a workspace is checked against its account's. */
const shared = new Lru<string, LiveShared>(4);

export async function readSharedFiles(sql: Sql, tenant: string): Promise<LiveShared> {
  const seq = await liveSeqOf(sql, tenant);
  const key = `${libraryId(tenant)}#${seq}`;
  if (seq === 0) return { seq, key: '', files: [] };
  const known = shared.get(key);
  if (known) return known;
  const live = await readLiveLibrary(sql, tenant);
  if (live.seq !== seq) return readSharedFiles(sql, tenant);
  const source = [...live.source].filter(([path]) => path !== ACCOUNT_FILE);
  const blobs = await readBlobs(
    sql,
    live.id,
    source.map(([, { sha }]) => sha),
  );
  const files = source.map(([path, { sha }]) => ({ path, content: blobs.get(sha) ?? new Uint8Array() }));
  return shared.set(key, { seq, key, files });
}

async function liveSeqOf(sql: Sql, tenant: string): Promise<number> {
  const [row] = await sql.query<{ seq: number }>({
    name: 'live-library-seq',
    text: 'SELECT live_seq AS seq FROM library WHERE tenant_id = $1',
    values: [tenant],
  });
  return row?.seq ?? 0;
}

/**
 * Locks the account's library and returns its live revision. Every deploy locks it `share`, a change of the library
 * `update`, so that plans always match the live tree and the live library. It is the first lock of each transaction.
 */
export async function lockLibrary(sql: Sql, tenant: string, lock: 'share' | 'update'): Promise<number> {
  await sql.query({
    name: 'make-library-row',
    text: 'INSERT INTO library (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING',
    values: [tenant],
  });
  const [row] = await sql.query<{ seq: number }>({
    name: `lock-library-${lock}`,
    text: `SELECT live_seq AS seq FROM library WHERE tenant_id = $1 FOR ${lock === 'share' ? 'SHARE' : 'UPDATE'}`,
    values: [tenant],
  });
  return row?.seq ?? 0;
}
