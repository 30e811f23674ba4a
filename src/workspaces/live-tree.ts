import type { Sql } from '../db/contract.js';
import { type ManifestEntry, parseManifest, type RevisionIndex, type Tree } from './manifest.js';

/** What is live now, read in one statement: never half of one revision and half of another. */
export interface LiveTree {
  /** 0 when nothing was ever deployed; then the rest is empty. */
  readonly seq: number;
  readonly revision: string | null;
  readonly gitCommit: string | null;
  /** The revision's files. */
  readonly source: Tree;
  /** Memory files as agents left them; each stands over the revision's file of its path. */
  readonly memory: Tree;
  readonly index: RevisionIndex | null;
}

interface Row {
  readonly seq: number;
  readonly revision: string | null;
  readonly gitCommit: string | null;
  readonly manifest: unknown;
  readonly index: RevisionIndex | null;
  readonly memory: readonly {
    readonly path: string;
    readonly sha: string;
    readonly size: number;
    readonly at: string;
  }[];
}

const READ_LIVE = `
  SELECT w.live_seq AS seq, r.id AS revision, r.git_commit AS "gitCommit", r.manifest, r.index,
    (SELECT coalesce(json_agg(json_build_object('path', m.path, 'sha', m.sha, 'size', m.size, 'at', m.updated_at)), '[]')
       FROM memory_file m WHERE m.workspace_id = w.id) AS memory
  FROM workspace w LEFT JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
  WHERE w.id = $1`;

export async function readLiveTree(sql: Sql, workspaceId: string): Promise<LiveTree> {
  const [row] = await sql.query<Row>({ name: 'read-live-tree', text: READ_LIVE, values: [workspaceId] });
  if (!row) return { seq: 0, revision: null, gitCommit: null, source: new Map(), memory: new Map(), index: null };
  const memory = new Map<string, ManifestEntry>();
  for (const { path, sha, size, at } of row.memory) {
    memory.set(path, { sha, size, by: 'agent', at: new Date(at).toISOString() });
  }
  return {
    seq: row.seq,
    revision: row.revision,
    gitCommit: row.gitCommit,
    source: parseManifest(row.manifest),
    memory,
    index: row.index,
  };
}

/** The tree as readers see it: the revision's files under the agents' memory. */
export function visibleTree({ source, memory }: Pick<LiveTree, 'source' | 'memory'>): Map<string, ManifestEntry> {
  return new Map([...source, ...memory]);
}

/**
 * What readers will see once these files are live: an agent's memory that the change does not mention stays, and stands
 * over them.
 */
export function treeAfter<T extends { readonly sha: string }>(
  live: Pick<LiveTree, 'memory'>,
  files: ReadonlyMap<string, T>,
  mentions: ReadonlySet<string>,
): Map<string, T | ManifestEntry> {
  return new Map<string, T | ManifestEntry>([...files, ...[...live.memory].filter(([path]) => !mentions.has(path))]);
}
