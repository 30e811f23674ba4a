import { newId } from '../../shared/ids.js';
import type { Log } from '../../shared/log.js';
import type { Db, Sql } from '../db/contract.js';
import { sha256Hex } from './blob-key.js';
import type { BlobStore } from './contract.js';

export interface BlobDeps {
  readonly db: Db;
  readonly blobs: BlobStore;
}

/** A stored blob that cannot be freed until a row refers to it or the hold ends. */
export interface HeldBlob {
  readonly id: string;
  readonly sha: string;
}

/** How long a hold lasts, and how long a blob is kept after its last row is gone. */
export const KEPT_MS = 86_400_000;

/** SQL: a row or a hold refers to this blob. */
const isNamed = (sha: string): string => `(EXISTS (SELECT 1 FROM storage_entry x WHERE x.sha = ${sha})
  OR EXISTS (SELECT 1 FROM run_file x WHERE x.sha = ${sha})
  OR EXISTS (SELECT 1 FROM git_pack x WHERE x.sha = ${sha})
  OR EXISTS (SELECT 1 FROM blob_hold x WHERE x.sha = ${sha}))`;

/** SQL: waits until a concurrent free of this blob has ended. No free runs until the transaction commits. */
export const lockBlobSql = (sha: string): string =>
  `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(hashtext('blob'), hashtext(${sha})))`;

/**
 * Stores bytes that a row will refer to. The hold is committed first: an existing blob stays, and one that is being
 * freed at this moment is stored again. Call `endHolds` in the transaction that writes the row.
 */
export async function holdBlob({ db, blobs }: BlobDeps, bytes: Uint8Array, sha = sha256Hex(bytes)): Promise<HeldBlob> {
  const held = { id: newId(), sha };
  await db.query({
    name: 'hold-blob',
    text: `${lockBlobSql('$2')} INSERT INTO blob_hold (id, sha) SELECT $1, $2 FROM held`,
    values: [held.id, held.sha],
  });
  await blobs.put(bytes);
  return held;
}

/** Ends holds in the transaction whose rows refer to the blobs. Throws when one expired: its blob may be gone. */
export async function endHolds(sql: Sql, held: readonly HeldBlob[]): Promise<void> {
  if (held.length === 0) return;
  const taken = await sql.query({
    name: 'take-held',
    text: 'DELETE FROM blob_hold WHERE id = ANY($1) RETURNING 1',
    values: [held.map(({ id }) => id)],
  });
  if (taken.length < held.length) throw new Error('a blob was held too long before a row named it');
}

/** Releases holds that no transaction has ended, and frees the blobs that nothing else refers to. */
export async function releaseHolds(store: BlobDeps, held: readonly HeldBlob[]): Promise<void> {
  if (held.length === 0) return;
  const gone = await store.db.query<{ sha: string }>({
    name: 'release-held',
    text: `WITH gone AS (DELETE FROM blob_hold WHERE id = ANY($1) RETURNING sha), loose AS (
        INSERT INTO loose_blob (sha) SELECT DISTINCT sha FROM gone ORDER BY sha ON CONFLICT (sha) DO NOTHING)
      SELECT DISTINCT sha FROM gone`,
    values: [held.map(({ id }) => id)],
  });
  await freeBlobs(
    store,
    gone.map(({ sha }) => sha),
  );
}

/** The same without throwing: the sweep frees what cannot be freed now. */
export async function tryReleaseHolds(
  store: BlobDeps & { readonly log: Log },
  held: readonly HeldBlob[],
): Promise<void> {
  await releaseHolds(store, held).catch((error: unknown) =>
    store.log.warn({ err: error }, 'failed to release blob holds, left to the sweep'),
  );
}

/** One transaction that writes rows for these blobs and ends their holds. Releases the holds when it fails. */
export async function withHeldBlobs(
  store: BlobDeps & { readonly log: Log },
  held: readonly HeldBlob[],
  work: (sql: Sql) => Promise<void>,
): Promise<void> {
  try {
    await store.db.transaction(async (sql) => {
      await work(sql);
      await endHolds(sql, held);
    });
  } catch (error) {
    await tryReleaseHolds(store, held);
    throw error;
  }
}

/** Deletes the blobs that no row and no hold refers to. The sweep deletes what cannot be deleted now. */
export async function freeBlobs({ db, blobs }: BlobDeps, shas: readonly string[], signal?: AbortSignal): Promise<void> {
  for (const sha of shas) {
    if (signal?.aborted) return;
    await db.transaction(async (sql) => {
      // The lock blocks processes that store the same bytes. The next statement sees holds from before.
      await sql.query(`SELECT pg_advisory_xact_lock(hashtext('blob'), hashtext($1))`, [sha]);
      const [row] = await sql.query<{ named: boolean }>(`SELECT ${isNamed('$1')} AS named`, [sha]);
      if (!row?.named) await blobs.delete(sha);
      await sql.query('DELETE FROM loose_blob WHERE sha = $1', [sha]);
    });
  }
}

const AT_ONCE = 500;

/** Frees blobs whose last row is gone, and blobs held by dead processes, after `keptMs`. Stops once the signal is aborted. */
export async function sweepBlobs(
  store: BlobDeps,
  { keptMs = KEPT_MS, signal }: { readonly keptMs?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const { db } = store;
  await db.query({
    name: 'end-old-holds',
    text: `WITH gone AS (DELETE FROM blob_hold WHERE at <= now() - $1 * interval '1 ms' RETURNING sha, at)
      INSERT INTO loose_blob (sha, at) SELECT sha, min(at) FROM gone GROUP BY sha ORDER BY sha ON CONFLICT (sha) DO NOTHING`,
    values: [keptMs],
  });
  for (;;) {
    const due = await db.query<{ sha: string }>({
      name: 'loose-blobs',
      text: `SELECT sha FROM loose_blob WHERE at <= now() - $1 * interval '1 ms' ORDER BY at LIMIT ${AT_ONCE}`,
      values: [keptMs],
    });
    await freeBlobs(
      store,
      due.map(({ sha }) => sha),
      signal,
    );
    if (due.length < AT_ONCE || signal?.aborted) return;
  }
}

/**
 * The blobs in the store without row, hold or entry for the sweep: left over from versions without holds. Ends early
 * once the signal is aborted.
 */
export async function* orphanBlobs({ db, blobs }: BlobDeps, signal?: AbortSignal): AsyncGenerator<string> {
  let batch: string[] = [];
  for await (const sha of blobs.list()) {
    if (signal?.aborted) return;
    batch.push(sha);
    if (batch.length < AT_ONCE) continue;
    yield* await orphansOf(db, batch);
    batch = [];
  }
  yield* await orphansOf(db, batch);
}

async function orphansOf(sql: Sql, shas: readonly string[]): Promise<readonly string[]> {
  if (shas.length === 0) return [];
  const rows = await sql.query<{ sha: string }>({
    name: 'stray-blobs',
    text: `SELECT sha FROM unnest($1::text[]) AS known (sha)
      WHERE NOT ${isNamed('known.sha')} AND NOT EXISTS (SELECT 1 FROM loose_blob l WHERE l.sha = known.sha)`,
    values: [shas],
  });
  return rows.map(({ sha }) => sha);
}

/** Adds the stray blobs to the sweep's list. */
export async function recordOrphans(store: BlobDeps, signal?: AbortSignal): Promise<void> {
  for await (const sha of orphanBlobs(store, signal))
    await store.db.query({
      name: 'note-stray',
      text: 'INSERT INTO loose_blob (sha) VALUES ($1) ON CONFLICT (sha) DO NOTHING',
      values: [sha],
    });
}
