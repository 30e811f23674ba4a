import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { openRepository, writeBlobs, writeCommit, writeTree } from '../git/index.js';
import { failpoint } from '../shared/failpoint.js';
import type { Actor } from '../shared/roles.js';
import { storableJson } from '../shared/storable-json.js';
import type { Workspace } from '../workspace/model.js';
import { ensureCommit } from './ensure-commit.js';
import { type LiveTree, treeAfter, visibleTree } from './live-tree.js';
import { diffTrees, type ManifestEntry, type RevisionIndex, type TreeDiff } from './manifest.js';
import type { PreparedTree } from './prepare-tree.js';
import { digestPlan } from './store-plan.js';
import { writeChange } from './write-change.js';

export interface RevisionInput {
  readonly workspaceId: string;
  /** What was live under the lock that the caller holds. */
  readonly live: LiveTree;
  readonly prepared: PreparedTree & { readonly workspace: Workspace };
  /** Memory files that this tree replaces, though an agent wrote them. */
  readonly mentions: ReadonlySet<string>;
  /** The id the caller named, a full hash; null takes the git commit's. */
  readonly id: string | null;
  readonly by: Actor;
  readonly via: 'deploy' | 'push' | 'edit' | 'rollback';
  readonly message: string;
}

export interface WrittenRevision {
  readonly id: string;
  readonly gitCommit: string;
  readonly seq: number;
  readonly diff: TreeDiff;
}

/**
 * Makes a checked tree live. Call it with the workspace's row locked FOR UPDATE: git objects first (harmless when the
 * transaction rolls back), then the rows, the pointer last. `alignMain` moves the ref after the commit.
 */
export async function writeRevision(deps: Deps, sql: Sql, input: RevisionInput): Promise<WrittenRevision> {
  const { workspaceId, live, prepared } = input;
  const at = new Date(deps.clock.now());
  const git = await writeObjects(deps, sql, input, at);
  failpoint('objects-written');
  const revision = { seq: live.seq + 1, id: input.id ?? git.commit, gitCommit: git.commit };
  const manifest = nextManifest(input, at);
  await insertBlobs(sql, workspaceId, prepared.files);
  const plans = await insertPlans(sql, workspaceId, prepared.workspace.plans);
  await sql.query({
    name: 'insert-revision',
    text: `INSERT INTO revision (workspace_id, seq, id, git_commit, tree_hash, manifest, plans, index, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      workspaceId,
      revision.seq,
      revision.id,
      git.commit,
      git.tree,
      JSON.stringify(Object.fromEntries(manifest)),
      JSON.stringify(plans),
      storableJson(indexOf(prepared)),
      at,
    ],
  });
  const before = visibleTree(live);
  const after = treeAfter(live, manifest, input.mentions);
  await writeChange(sql, { ...input, id: revision.id, at, before, after, revisionSeq: revision.seq, runId: null });
  failpoint('revision-written');
  await swapPointer(sql, input, revision.seq, at);
  return { ...revision, diff: diffTrees(before, after) };
}

async function writeObjects(
  deps: Deps,
  sql: Sql,
  input: RevisionInput,
  at: Date,
): Promise<{ tree: string; commit: string }> {
  const { live, prepared, workspaceId } = input;
  const repository = await openRepository(deps.config.dataDir, workspaceId);
  if (live.gitCommit !== null)
    await ensureCommit(sql, repository, { workspaceId, seq: live.seq, commit: live.gitCommit });
  const known = new Set([...live.source.values()].map(({ sha }) => sha));
  const fresh = new Map(
    [...prepared.files.values()].filter(({ sha }) => !known.has(sha)).map((f) => [f.sha, f.content]),
  );
  await writeBlobs(repository, [...fresh.values()]);
  const tree = await writeTree(
    repository,
    [...prepared.files].map(([path, { sha }]) => ({ path, sha })),
  );
  const { by, message } = input;
  return { tree, commit: await writeCommit(repository, { tree, parent: live.gitCommit, by, message, at }) };
}

/** A file whose bytes stayed keeps the name and the time of who wrote it. */
function nextManifest({ live, prepared, via }: RevisionInput, at: Date): Map<string, ManifestEntry> {
  const written = { by: via === 'edit' ? 'person' : 'deploy', at: at.toISOString() } as const;
  const manifest = new Map<string, ManifestEntry>();
  for (const [path, { sha, content }] of prepared.files) {
    const old = live.source.get(path);
    manifest.set(path, old?.sha === sha ? old : { sha, size: content.byteLength, ...written });
  }
  return manifest;
}

async function insertBlobs(sql: Sql, workspaceId: string, files: PreparedTree['files']): Promise<void> {
  const blobs = new Map([...files.values()].map(({ sha, content }) => [sha, content]));
  const there = await sql.query<{ sha: string }>({
    name: 'known-blobs',
    text: 'SELECT sha FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
    values: [workspaceId, [...blobs.keys()]],
  });
  for (const { sha } of there) blobs.delete(sha);
  // In one order everywhere, so that two writers of the same blobs never wait for each other in a ring.
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

/** Plans are stored once by their digest; answers target to plan id. */
async function insertPlans(sql: Sql, workspaceId: string, plans: Workspace['plans']): Promise<Record<string, string>> {
  const compiled = Object.entries(plans).map(([target, plan]) => ({ target, ...digestPlan(plan) }));
  await sql.query({
    name: 'insert-plans',
    text: `INSERT INTO plan (workspace_id, id, version, body)
      SELECT DISTINCT ON (id) $1, id, 1, body FROM unnest($2::text[], $3::jsonb[]) AS new (id, body) ORDER BY id
      ON CONFLICT DO NOTHING`,
    values: [workspaceId, compiled.map(({ id }) => id), compiled.map(({ body }) => body)],
  });
  return Object.fromEntries(compiled.map(({ target, id }) => [target, id]));
}

function indexOf({ workspace, issues }: RevisionInput['prepared']): RevisionIndex {
  const { plans: _plans, ...rest } = workspace;
  return { ...rest, warnings: issues };
}

async function swapPointer(sql: Sql, input: RevisionInput, seq: number, at: Date): Promise<void> {
  const replaced = [...input.mentions].filter((path) => input.live.memory.has(path));
  if (replaced.length > 0) {
    await sql.query({
      name: 'replace-memory',
      text: 'DELETE FROM memory_file WHERE workspace_id = $1 AND path = ANY($2)',
      values: [input.workspaceId, replaced],
    });
  }
  await sql.query({
    name: 'swap-pointer',
    text: 'UPDATE workspace SET live_seq = $2, updated_at = $3 WHERE id = $1',
    values: [input.workspaceId, seq, at],
  });
}
