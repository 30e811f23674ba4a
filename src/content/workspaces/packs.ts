import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deps } from '../../deps.js';
import { type KeptPack, loadPack, type Repository } from '../../git/index.js';
import type { Db, Sql } from '../../platform/db/contract.js';
import { freeBlobs, lockBlobSql } from '../../platform/storage/index.js';
import { newId } from '../../shared/ids.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';
import { StorageUnavailable } from '../../shared/storage-unavailable.js';

/** A pack in the object store, with its row; nothing refers to it until `linkPack`. */
export interface StoredPack {
  readonly id: string;
  readonly sha: string;
}

/**
 * Stores a pack in the object store, where every process finds it. The row is written first, so that the sweep can find
 * the pack after a crash.
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
 * Makes a stored pack part of the workspace's history, in the transaction that refers to its objects. Idempotent. Throws
 * when the pack was deleted with its workspace.
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

/** Deletes a pack unless a transaction has linked it. The sweep frees what cannot be freed now. */
export async function dropPack(deps: Pick<Deps, 'db' | 'blobs'>, { id, sha }: StoredPack): Promise<void> {
  const gone = await deps.db.query('DELETE FROM git_pack WHERE id = $1 AND seq IS NULL RETURNING 1', [id]);
  if (gone.length > 0) await freeBlobs(deps, [sha]).catch(unlessAway);
}

function unlessAway(error: unknown): void {
  if (!(error instanceof StorageUnavailable)) throw error;
}

/** Packs without a transaction are deleted after this time, which is longer than any push may take. */
const UNLINKED_HOURS = 6;

/** Deletes packs of dead processes that no transaction has linked. Stops between two once the signal is aborted. */
export async function sweepPacks(deps: Pick<Deps, 'db' | 'blobs'>, signal?: AbortSignal): Promise<void> {
  const rows = await deps.db.query<StoredPack>(
    `SELECT id, sha FROM git_pack WHERE seq IS NULL AND created_at < now() - ${UNLINKED_HOURS} * interval '1 hour' LIMIT 100`,
  );
  for (const row of rows) {
    if (signal?.aborted) return;
    await dropPack(deps, row);
  }
}

const LOADED = 'packs-loaded';

/** Downloads the packs of the workspace that were linked after the last one on disk. */
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

/** The number of the last pack up to which all packs are on disk. */
async function readLoaded({ gitdir }: Repository): Promise<number> {
  const text = await readFile(join(gitdir, LOADED), 'utf8').catch(() => '');
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/**
 * Records that a pack which was just linked is on disk already, unless the repository was restored in the meantime. A
 * pack that is not recorded is downloaded again.
 */
export async function recordLoadedPack(db: Db, repository: Repository, id: string): Promise<void> {
  const row = await db.prisma.gitPack.findFirst({ select: { seq: true, name: true }, where: { id } });
  if (!row || row.seq !== (await readLoaded(repository)) + 1) return;
  const isThere = await access(join(repository.gitdir, 'objects', 'pack', `pack-${row.name}.idx`)).then(
    () => true,
    () => false,
  );
  if (isThere) await writeFile(join(repository.gitdir, LOADED), String(row.seq));
}
