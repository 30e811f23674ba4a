import type { Sql } from '../../platform/db/contract.js';
import { Lru } from '../../shared/lru.js';
import { type ManifestEntry, parseManifest, type RevisionIndex, type Tree } from './manifest.js';

/** The live state, read in one statement, so that it is from one revision. */
export interface LiveTree {
  /** 0 before the first deploy; then all other fields are empty. */
  readonly seq: number;
  readonly revision: string | null;
  readonly gitCommit: string | null;
  /** The revision's files. */
  readonly source: Tree;
  /** Memory files that agents wrote. Each replaces the revision's file of its path. */
  readonly memory: Tree;
  readonly index: RevisionIndex | null;
}

interface Row extends Pick<LiveTree, 'seq' | 'revision' | 'gitCommit'> {
  /** The transaction that wrote the revision: after a rollback another revision gets the same number. */
  readonly writer: string | null;
  readonly memory: readonly {
    readonly path: string;
    readonly sha: string;
    readonly size: number;
    readonly at: string;
  }[];
}

const READ_LIVE = `
  SELECT w.live_seq AS seq, r.id AS revision, r.git_commit AS "gitCommit", r.xmin::text AS writer,
    (SELECT coalesce(json_agg(json_build_object('path', m.path, 'sha', m.sha, 'size', m.size, 'at', m.updated_at)), '[]')
       FROM memory_file m WHERE m.workspace_id = w.id) AS memory
  FROM workspace w LEFT JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
  WHERE w.id = $1`;

type Contents = Pick<LiveTree, 'source' | 'index'>;

/** Revisions are immutable. Reading one of 2,000 files takes as long as the rest of an edit. */
const contents = new Lru<string, Contents>(8);

export async function readLiveTree(sql: Sql, workspaceId: string): Promise<LiveTree> {
  const [row] = await sql.query<Row>({ name: 'read-live-tree', text: READ_LIVE, values: [workspaceId] });
  const found = row && (await readContents(sql, workspaceId, row));
  if (!found) return { seq: 0, revision: null, gitCommit: null, source: new Map(), memory: new Map(), index: null };
  const memory = new Map<string, ManifestEntry>();
  for (const { path, sha, size, at } of row.memory) {
    memory.set(path, { sha, size, by: 'agent', at: new Date(at).toISOString() });
  }
  const { seq, revision, gitCommit } = row;
  return { seq, revision, gitCommit, ...found, memory };
}

/** Null when the workspace was deleted meanwhile. */
async function readContents(sql: Sql, workspaceId: string, { seq, writer }: Row): Promise<Contents | null> {
  if (writer === null) return { source: new Map(), index: null };
  const key = `${workspaceId} ${seq} ${writer}`;
  const known = contents.get(key);
  if (known) return known;
  const [row] = await sql.query<{ manifest: unknown; index: RevisionIndex | null }>({
    name: 'read-revision',
    text: 'SELECT manifest, index FROM revision WHERE workspace_id = $1 AND seq = $2',
    values: [workspaceId, seq],
  });
  return row ? contents.set(key, { source: parseManifest(row.manifest), index: row.index }) : null;
}

/** The commit of the live revision; null before the first deploy. */
export async function readLiveCommit(sql: Sql, workspaceId: string): Promise<string | null> {
  const [row] = await sql.query<{ commit: string }>({
    name: 'read-live-commit',
    text: `SELECT r.git_commit AS commit FROM workspace w JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
      WHERE w.id = $1`,
    values: [workspaceId],
  });
  return row?.commit ?? null;
}

/** The tree as readers see it: the revision's files, overlaid with the agents' memory. */
export function visibleTree({ source, memory }: Pick<LiveTree, 'source' | 'memory'>): Map<string, ManifestEntry> {
  return new Map([...source, ...memory]);
}

/**
 * The tree that readers see once these files are live: agents' memory that the change does not mention stays, and
 * replaces the files of the same paths.
 */
export function treeAfter<T extends { readonly sha: string }>(
  live: Pick<LiveTree, 'memory'>,
  files: ReadonlyMap<string, T>,
  mentions: ReadonlySet<string>,
): Map<string, T | ManifestEntry> {
  return new Map<string, T | ManifestEntry>([...files, ...[...live.memory].filter(([path]) => !mentions.has(path))]);
}

/** How many runs an answer names; the count is exact. */
const NAMED = 50;

export interface LiveRun {
  readonly id: string;
  readonly flow: string;
  readonly status: string;
}

/**
 * The live runs that a deploy or a delete would disturb, without evals and child runs. Exact under the workspace's row
 * lock, since starting a run takes that row's share lock first.
 */
export async function liveRuns(sql: Sql, workspaceId: string): Promise<{ count: number; runs: readonly LiveRun[] }> {
  const rows = await sql.query<LiveRun & { readonly count: bigint }>({
    name: 'live-runs',
    text: `SELECT id, flow, status, count(*) OVER () AS count FROM run
      WHERE workspace_id = $1 AND finished_at IS NULL AND mode = 'normal' AND parent_id IS NULL
      ORDER BY created_at, id LIMIT ${NAMED}`,
    values: [workspaceId],
  });
  return { count: Number(rows[0]?.count ?? 0n), runs: rows.map(({ id, flow, status }) => ({ id, flow, status })) };
}

/** The bytes of source blobs by sha, of a workspace or of several homes. Throws when one is missing, since they are never deleted. */
export async function readBlobs(
  sql: Sql,
  home: string | readonly string[],
  shas: Iterable<string>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const wanted = [...new Set(shas)];
  const rows = await sql.query<{ sha: string; content: Uint8Array }>({
    name: 'read-blobs',
    text: 'SELECT sha, content FROM blob WHERE workspace_id = ANY($1) AND sha = ANY($2)',
    values: [typeof home === 'string' ? [home] : home, wanted],
  });
  const found = new Map(rows.map(({ sha, content }) => [sha, content]));
  const missing = wanted.find((sha) => !found.has(sha));
  if (missing !== undefined) throw new Error(`workspace ${String(home)} has no blob ${missing}`);
  return found;
}
