import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deps } from '../../deps.js';
import { hasCommit, type Repository, writeBlobs, writeCommit, writeTree } from '../../git/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import type { Actor } from '../../shared/roles.js';
import { readBlobs } from './live-tree.js';
import { parseManifest } from './manifest.js';
import { loadPacks } from './packs.js';

interface CommittedRevision
  extends Pick<TableRow<'Revision'>, 'seq' | 'gitCommit' | 'packed' | 'manifest' | 'createdAt'> {
  readonly by: Actor;
  readonly message: string;
}

interface Wanted {
  readonly workspaceId: string;
  readonly seq: number;
  readonly commit: string;
}

/**
 * A marker file in a repository that is being restored. It contains the number of the last complete revision. Without
 * the marker, an existing commit has all its ancestors; during a restore, packs contain commits without their parents.
 */
const FILLING = 'filling';

/**
 * Ensures that the repository has this revision's commit and its ancestors. Postgres is the source of truth: a lost
 * repository, or one on another machine, is restored from packs for pushes and from the rows for all other revisions.
 */
export async function ensureCommit(
  deps: Pick<Deps, 'blobs'>,
  sql: Sql,
  repository: Repository,
  wanted: Wanted,
): Promise<void> {
  const filling = await readFilling(repository);
  if (filling === null && (await hasCommit(repository, wanted.commit))) return;
  const whole = filling ?? (await lastWhole(sql, repository, wanted));
  await writeFile(join(repository.gitdir, FILLING), String(whole));
  await loadPacks(deps, sql, repository, wanted.workspaceId);
  await writeRevisions(sql, repository, { ...wanted, after: whole });
  await rm(join(repository.gitdir, FILLING), { force: true });
}

async function readFilling({ gitdir }: Repository): Promise<number | null> {
  const text = await readFile(join(gitdir, FILLING), 'utf8').catch(() => null);
  if (text === null) return null;
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** The newest earlier revision whose commit exists; 0 for none. */
async function lastWhole(sql: Sql, repository: Repository, { workspaceId, seq }: Wanted): Promise<number> {
  for (let at = seq - 1; at > 0; at -= 1) {
    const commit = await commitOf(sql, workspaceId, at);
    if (commit !== null && (await hasCommit(repository, commit))) return at;
  }
  return 0;
}

async function writeRevisions(
  sql: Sql,
  repository: Repository,
  { workspaceId, seq, after }: Wanted & { readonly after: number },
): Promise<void> {
  let parent = after > 0 ? await commitOf(sql, workspaceId, after) : null;
  const written = new Set<string>();
  for (let at = after + 1; at <= seq; at += 1) {
    const row = await readRevision(sql, workspaceId, at);
    const commit = row.packed
      ? await packedCommit(repository, row)
      : await rewrite(sql, repository, { workspaceId, row, parent, written });
    if (commit !== row.gitCommit) throw new Error(`revision ${row.gitCommit} of ${workspaceId} does not re-hash`);
    parent = commit;
  }
}

async function readRevision(sql: Sql, workspaceId: string, seq: number): Promise<CommittedRevision> {
  const [row] = await sql.query<CommittedRevision>({
    name: 'revision-to-restore',
    text: `SELECT r.seq, r.git_commit AS "gitCommit", r.packed, r.manifest, r.created_at AS "createdAt", c.by, c.message
      FROM revision r JOIN change c ON c.workspace_id = r.workspace_id AND c.id = r.id
      WHERE r.workspace_id = $1 AND r.seq = $2`,
    values: [workspaceId, seq],
  });
  if (!row) throw new Error(`revision ${seq} of ${workspaceId} is gone`);
  return row;
}

async function packedCommit(repository: Repository, { gitCommit }: CommittedRevision): Promise<string | null> {
  return (await hasCommit(repository, gitCommit)) ? gitCommit : null;
}

interface Rewrite {
  readonly workspaceId: string;
  readonly row: CommittedRevision;
  readonly parent: string | null;
  /** Blobs that this restore has written for earlier revisions. */
  readonly written: Set<string>;
}

async function rewrite(
  sql: Sql,
  repository: Repository,
  { workspaceId, row, parent, written }: Rewrite,
): Promise<string> {
  const files = [...parseManifest(row.manifest)].map(([path, { sha, executable }]) => ({ path, sha, executable }));
  const fresh = files.map(({ sha }) => sha).filter((sha) => !written.has(sha));
  const blobs = await readBlobs(sql, workspaceId, fresh);
  await writeBlobs(repository, [...blobs.values()]);
  for (const sha of fresh) written.add(sha);
  const tree = await writeTree(repository, files);
  return writeCommit(repository, { tree, parent, by: row.by, message: row.message, at: row.createdAt });
}

async function commitOf(sql: Sql, workspaceId: string, seq: number): Promise<string | null> {
  const [row] = await sql.query<{ commit: string }>({
    name: 'commit-of-seq',
    text: 'SELECT git_commit AS commit FROM revision WHERE workspace_id = $1 AND seq = $2',
    values: [workspaceId, seq],
  });
  return row?.commit ?? null;
}
