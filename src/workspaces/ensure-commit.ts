import type { Sql } from '../db/contract.js';
import { type Repository, readCommit, writeBlobs, writeCommit, writeTree } from '../git/index.js';
import type { Actor } from '../shared/roles.js';
import { parseManifest } from './manifest.js';
import { readBlobs } from './read-blobs.js';

interface RevisionRow {
  readonly seq: number;
  readonly gitCommit: string;
  readonly manifest: unknown;
  readonly createdAt: Date;
  readonly by: Actor;
  readonly message: string;
}

/**
 * Sees to it that the repository holds this revision's commit and all before it. Postgres is the truth: a repository
 * that was lost, or is another machine's, is written again from the rows, object for object.
 */
export async function ensureCommit(
  sql: Sql,
  repository: Repository,
  revision: { readonly workspaceId: string; readonly seq: number; readonly commit: string },
): Promise<void> {
  if (await readCommit(repository, revision.commit)) return;
  const { workspaceId } = revision;
  const missing = await missingRevisions(sql, repository, revision);
  let parent = missing[0] ? await commitOf(sql, workspaceId, missing[0].seq - 1) : null;
  for (const row of missing) {
    const files = [...parseManifest(row.manifest)].map(([path, { sha }]) => ({ path, sha }));
    const blobs = await readBlobs(
      sql,
      workspaceId,
      files.map(({ sha }) => sha),
    );
    await writeBlobs(repository, [...blobs.values()]);
    const tree = await writeTree(repository, files);
    const commit = await writeCommit(repository, { tree, parent, by: row.by, message: row.message, at: row.createdAt });
    if (commit !== row.gitCommit) throw new Error(`revision ${row.gitCommit} of ${workspaceId} does not re-hash`);
    parent = commit;
  }
}

/** Oldest first. */
async function missingRevisions(
  sql: Sql,
  repository: Repository,
  { workspaceId, seq }: { workspaceId: string; seq: number },
): Promise<RevisionRow[]> {
  const missing: RevisionRow[] = [];
  for (let at = seq; at > 0; at -= 1) {
    const [row] = await sql.query<RevisionRow>({
      name: 'revision-to-restore',
      text: `SELECT r.seq, r.git_commit AS "gitCommit", r.manifest, r.created_at AS "createdAt", c.by, c.message
        FROM revision r JOIN change c ON c.workspace_id = r.workspace_id AND c.id = r.id
        WHERE r.workspace_id = $1 AND r.seq = $2`,
      values: [workspaceId, at],
    });
    if (!row || (await readCommit(repository, row.gitCommit))) break;
    missing.unshift(row);
  }
  return missing;
}

async function commitOf(sql: Sql, workspaceId: string, seq: number): Promise<string | null> {
  const [row] = await sql.query<{ commit: string }>({
    name: 'commit-of-seq',
    text: 'SELECT git_commit AS commit FROM revision WHERE workspace_id = $1 AND seq = $2',
    values: [workspaceId, seq],
  });
  return row?.commit ?? null;
}
