import type { Deps } from '../../deps.js';
import { openRepository, writeBlobs, writeCommit, writeTree } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import { failpoint } from '../../shared/failpoint.js';
import { newId } from '../../shared/ids.js';
import type { Actor } from '../../shared/roles.js';
import { ensureCommit } from './ensure-commit.js';
import type { ManifestEntry, Tree } from './manifest.js';
import type { PreparedFile } from './prepare-tree.js';

/** A commit of a push or a merge. It is in the repository and in a stored pack. */
export interface ReadyCommit {
  readonly id: string;
  /** The tree of the same files. The live commit is an ancestor of the commit. */
  readonly tree: string;
  /** The paths that are marked as programs. */
  readonly executable: ReadonlySet<string>;
}

/** A tree to store as the next revision of a workspace or of an account's library. */
export interface RevisionToStore {
  readonly workspaceId: string;
  readonly live: { readonly seq: number; readonly gitCommit: string | null; readonly source: Tree };
  readonly files: ReadonlyMap<string, PreparedFile>;
  /** The revision's id, a full hash; null uses the id of the git commit. */
  readonly id: string | null;
  /** Another id to use if it is free. */
  readonly preferredId?: string | null | undefined;
  /** The paths that stay an agent's memory. */
  readonly agentMemory?: ReadonlySet<string> | undefined;
  readonly by: Actor;
  readonly via: 'deploy' | 'push' | 'edit' | 'rollback';
  /** An existing commit to use instead of creating one. */
  readonly commit?: ReadyCommit | undefined;
  /** The executable paths, if there is no commit; without it each file keeps its mark. */
  readonly executable?: ReadonlySet<string> | undefined;
  readonly message: string;
  readonly at: Date;
  /** Target to plan id. */
  readonly plans: Readonly<Record<string, string>>;
  /** The revision's index, as JSON that the database can store. */
  readonly index: string;
}

export interface StoredRevision {
  readonly seq: number;
  readonly id: string;
  readonly gitCommit: string;
  readonly manifest: ReadonlyMap<string, ManifestEntry>;
}

/** Writes git objects first (harmless when the transaction rolls back), then the rows. The caller makes the revision live. */
export async function storeRevision(deps: Deps, sql: Sql, input: RevisionToStore): Promise<StoredRevision> {
  const { workspaceId, live, at } = input;
  const git = input.commit
    ? { tree: input.commit.tree, commit: input.commit.id }
    : await writeObjects(deps, sql, input);
  failpoint('objects-written');
  const revision = {
    seq: live.seq + 1,
    id: input.id ?? (await freeId(sql, workspaceId, [input.preferredId ?? null, git.commit])),
    gitCommit: git.commit,
  };
  const manifest = nextManifest(input);
  await insertBlobs(sql, workspaceId, freshFiles(input));
  await sql.query({
    name: 'insert-revision',
    text: `INSERT INTO revision (workspace_id, seq, id, git_commit, tree_hash, manifest, plans, index, created_at, packed)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      workspaceId,
      revision.seq,
      revision.id,
      git.commit,
      git.tree,
      toJson(Object.fromEntries(manifest)),
      toJson(input.plans),
      input.index,
      at,
      input.commit !== undefined,
    ],
  });
  return { ...revision, manifest };
}

async function writeObjects(deps: Deps, sql: Sql, input: RevisionToStore): Promise<{ tree: string; commit: string }> {
  const { workspaceId, live, files, by, message, at } = input;
  const repository = await openRepository(deps.config.dataDir, workspaceId);
  if (live.gitCommit !== null)
    await ensureCommit(deps, sql, repository, { workspaceId, seq: live.seq, commit: live.gitCommit });
  await writeBlobs(repository, [...freshFiles(input).values()]);
  const tree = await writeTree(
    repository,
    [...files].map(([path, { sha }]) => ({ path, sha, executable: isProgram(input, path) || undefined })),
  );
  return { tree, commit: await writeCommit(repository, { tree, parent: live.gitCommit, by, message, at }) };
}

/** The contents that the live revision does not have, by id. The others are stored already. */
function freshFiles({ live, files }: RevisionToStore): Map<string, Uint8Array> {
  const known = new Set([...live.source.values()].map(({ sha }) => sha));
  return new Map([...files.values()].filter(({ sha }) => !known.has(sha)).map(({ sha, content }) => [sha, content]));
}

type Marks = Pick<RevisionToStore, 'commit' | 'executable'> & {
  readonly live: Pick<RevisionToStore['live'], 'source'>;
};

/** Only git sets executable marks. */
function isProgram({ commit, executable, live }: Marks, path: string): boolean {
  return (commit?.executable ?? executable)?.has(path) ?? live.source.get(path)?.executable === true;
}

/** The files with the executable marks that their revision would have. */
export function markPrograms(
  files: ReadonlyMap<string, PreparedFile>,
  marks: Marks,
): Map<string, PreparedFile & { readonly executable: boolean }> {
  return new Map([...files].map(([path, file]) => [path, { ...file, executable: isProgram(marks, path) }]));
}

/** A file whose bytes do not change keeps its writer and time. */
function nextManifest(input: RevisionToStore): Map<string, ManifestEntry> {
  const { live, files, via, at } = input;
  const written = { by: via === 'edit' ? 'person' : 'deploy', at: at.toISOString() } as const;
  const manifest = new Map<string, ManifestEntry>();
  for (const [path, { sha, content }] of files) {
    const old = live.source.get(path);
    const { sha: id, size, by, at: since } = old?.sha === sha ? old : { sha, size: content.byteLength, ...written };
    manifest.set(path, {
      ...{ sha: id, size, by, at: since },
      ...(isProgram(input, path) && { executable: true }),
      ...(input.agentMemory?.has(path) && { fromAgent: true }),
    });
  }
  return manifest;
}

/** The first of these ids that no other revision or change has, else a new one. */
async function freeId(sql: Sql, workspaceId: string, wanted: readonly (string | null)[]): Promise<string> {
  const rows = await sql.query<{ id: string }>({
    name: 'revision-ids-taken',
    text: `SELECT id FROM revision WHERE workspace_id = $1 AND id = ANY($2)
      UNION SELECT id FROM change WHERE workspace_id = $1 AND id = ANY($2)`,
    values: [workspaceId, wanted.filter((id) => id !== null)],
  });
  const taken = new Set(rows.map(({ id }) => id));
  return wanted.find((id) => id !== null && !taken.has(id)) ?? newId();
}

async function insertBlobs(sql: Sql, workspaceId: string, blobs: Map<string, Uint8Array>): Promise<void> {
  const there = await sql.query<{ sha: string }>({
    name: 'known-blobs',
    text: 'SELECT sha FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
    values: [workspaceId, [...blobs.keys()]],
  });
  for (const { sha } of there) blobs.delete(sha);
  // In a fixed order, so that two writers of the same blobs cannot deadlock.
  const rows = [...blobs].sort(([a], [b]) => (a < b ? -1 : 1));
  if (rows.length === 0) return;
  await sql.query({
    name: 'insert-blobs',
    text: `INSERT INTO blob (workspace_id, sha, size, content)
      SELECT $1, sha, length(content), content FROM unnest($2::text[], $3::bytea[]) AS new (sha, content)
      ON CONFLICT DO NOTHING`,
    values: [workspaceId, rows.map(([sha]) => sha), rows.map(([, content]) => Buffer.from(content))],
  });
}
