import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { type KeptPack, loadPack, type Repository } from '../git/index.js';
import { newId } from '../shared/ids.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import { StorageUnavailable } from '../shared/storage-unavailable.js';
import { freeBlobs, lockBlobSql } from '../storage/index.js';

/** A pack in the object store, with its row; nothing refers to it until `linkPack`. */
export interface StoredPack {
  readonly id: string;
  readonly sha: string;
}

/**
 * Keeps a pack in the object store, where every process finds it. Its row comes first, so that a crash leaves nothing
 * that the sweep does not know of.
 */
export async function storePack(
  deps: Pick<Deps, 'db' | 'blobs'>,
  workspaceId: string,
  pack: KeptPack,
): Promise<StoredPack> {
  const id = newId();
  const sha = await deps.blobs.shaOf(pack.file);
  await deps.db.query({
    name: 'keep-pack',
    text: `${lockBlobSql('$4')} INSERT INTO git_pack (id, workspace_id, name, sha, size) SELECT $1, $2, $3, $4, $5 FROM held`,
    values: [id, workspaceId, pack.name, sha, pack.size],
  });
  await deps.blobs.putFile(pack.file, sha);
  return { id, sha };
}

/**
 * Makes a kept pack part of the workspace's history, in the transaction that refers to its objects. Taking it twice is
 * once. Throws when it is gone, with its workspace.
 */
export async function linkPack(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql.query(`SELECT pg_advisory_xact_lock(hashtext('git_pack'), hashtext($1))`, [workspaceId]);
  const [row] = await sql.query({
    name: 'take-pack',
    text: `UPDATE git_pack SET seq = coalesce(seq, (SELECT coalesce(max(seq), 0) + 1 FROM git_pack WHERE workspace_id = $1))
      WHERE workspace_id = $1 AND id = $2 RETURNING seq`,
    values: [workspaceId, id],
  });
  if (!row) throw new Error(`the pack ${id} of ${workspaceId} is gone`);
}

/** Gives up a pack that no transaction took. What cannot be freed now is left to the sweep. */
export async function dropPack(deps: Pick<Deps, 'db' | 'blobs'>, { id, sha }: StoredPack): Promise<void> {
  const gone = await deps.db.query('DELETE FROM git_pack WHERE id = $1 AND seq IS NULL RETURNING 1', [id]);
  if (gone.length > 0) await freeBlobs(deps, [sha]).catch(unlessAway);
}

function unlessAway(error: unknown): void {
  if (!(error instanceof StorageUnavailable)) throw error;
}

/** What died before its transaction is nobody's after so long: longer than any push may take. */
const UNTAKEN_HOURS = 6;

/** Removes packs that no transaction took, of processes that died. Answers how many. */
export async function sweepPacks(deps: Pick<Deps, 'db' | 'blobs'>): Promise<number> {
  const rows = await deps.db.query<StoredPack>(
    `SELECT id, sha FROM git_pack WHERE seq IS NULL AND created_at < now() - ${UNTAKEN_HOURS} * interval '1 hour' LIMIT 100`,
  );
  for (const row of rows) await dropPack(deps, row);
  return rows.length;
}

const LOADED = 'packs-loaded';

/** Brings every pack of the workspace to the disk that was taken since the last one that is there. */
export async function loadPacks(
  deps: Pick<Deps, 'blobs'>,
  sql: Sql,
  repository: Repository,
  workspaceId: string,
): Promise<void> {
  const rows = await sql.query<{ seq: number; sha: string }>({
    name: 'packs-after',
    text: 'SELECT seq, sha FROM git_pack WHERE workspace_id = $1 AND seq > $2 ORDER BY seq',
    values: [workspaceId, await readLoaded(repository)],
  });
  for (const { seq, sha } of rows) {
    const bytes = await deps.blobs.open(sha);
    if (!bytes) throw new Error(`pack ${seq} of ${workspaceId} (${sha}) is not in the blob store`);
    await loadPack(repository, bytes).catch((error: unknown) => {
      if (error instanceof Refusal) throw error;
      throw new Error(`pack ${seq} of ${workspaceId}: ${errorMessage(error)}`);
    });
    await writeFile(join(repository.gitdir, LOADED), String(seq));
  }
}

/** The number of the last pack that is on the disk with all before it. */
async function readLoaded({ gitdir }: Repository): Promise<number> {
  const text = await readFile(join(gitdir, LOADED), 'utf8').catch(() => '');
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/**
 * Notes that a pack which was just taken is on the disk already, unless the repository was lost and made again
 * meanwhile. One that was passed over is fetched once more.
 */
export async function recordLoadedPack(sql: Sql, repository: Repository, id: string): Promise<void> {
  const [row] = await sql.query<{ seq: number; name: string }>(
    'SELECT seq, name FROM git_pack WHERE id = $1 AND seq IS NOT NULL',
    [id],
  );
  if (!row || row.seq !== (await readLoaded(repository)) + 1) return;
  const isThere = await access(join(repository.gitdir, 'objects', 'pack', `pack-${row.name}.idx`)).then(
    () => true,
    () => false,
  );
  if (isThere) await writeFile(join(repository.gitdir, LOADED), String(row.seq));
}
