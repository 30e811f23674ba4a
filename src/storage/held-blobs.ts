import type { Db, Sql } from '../db/contract.js';
import { newId } from '../shared/ids.js';
import type { Log } from '../shared/log.js';
import { blobSha } from './blob-key.js';
import type { BlobStore } from './contract.js';

export interface BlobDeps {
  readonly db: Db;
  readonly blobs: BlobStore;
}

/** A blob that is stored, and that nobody frees until a row names it. */
export interface HeldBlob {
  readonly id: string;
  readonly sha: string;
}

/** As long as between the storing of a blob and the row that names it may lie, and as long as a blob stays that lost its last row. */
export const KEPT_MS = 86_400_000;

/** SQL: a row names this blob, or somebody holds it. */
const isNamed = (sha: string): string => `(EXISTS (SELECT 1 FROM storage_entry x WHERE x.sha = ${sha})
  OR EXISTS (SELECT 1 FROM run_file x WHERE x.sha = ${sha})
  OR EXISTS (SELECT 1 FROM git_pack x WHERE x.sha = ${sha})
  OR EXISTS (SELECT 1 FROM blob_hold x WHERE x.sha = ${sha}))`;

/** SQL, in whose transaction: whoever frees this blob now is waited for, and from the commit on nobody does. */
export const holding = (sha: string): string =>
  `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(hashtext('blob'), hashtext(${sha})))`;

/**
 * Stores bytes that a row is to name. The hold comes first, in a transaction of its own: a blob that is there already
 * stays, and one that is being freed at this moment is stored anew. Take it in the transaction that names it.
 */
export async function holdBlob({ db, blobs }: BlobDeps, bytes: Uint8Array, sha = blobSha(bytes)): Promise<HeldBlob> {
  const held = { id: newId(), sha };
  await db.query({
    name: 'hold-blob',
    text: `${holding('$2')} INSERT INTO blob_hold (id, sha) SELECT $1, $2 FROM held`,
    values: [held.id, held.sha],
  });
  await blobs.put(bytes);
  return held;
}

/** Ends holds in the transaction whose rows name the blobs. Throws when one ended before: its blob may be gone. */
export async function takeHeld(sql: Sql, held: readonly HeldBlob[]): Promise<void> {
  if (held.length === 0) return;
  const taken = await sql.query({
    name: 'take-held',
    text: 'DELETE FROM blob_hold WHERE id = ANY($1) RETURNING 1',
    values: [held.map(({ id }) => id)],
  });
  if (taken.length < held.length) throw new Error('a blob was held too long before a row named it');
}

/** Gives up those that no transaction took, and frees what nothing else names. */
export async function releaseHeld(store: BlobDeps, held: readonly HeldBlob[]): Promise<void> {
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

/** The same for one who has nothing to do about it: what cannot be freed now is left to the sweep. */
export async function giveUpHeld(store: BlobDeps & { readonly log: Log }, held: readonly HeldBlob[]): Promise<void> {
  await releaseHeld(store, held).catch((error: unknown) =>
    store.log.warn({ err: error }, 'stored files that no row names are left to the sweep'),
  );
}

/** One transaction whose rows name these blobs, and which takes them; they are given up when it fails. */
export async function nameHeld(
  store: BlobDeps & { readonly log: Log },
  held: readonly HeldBlob[],
  work: (sql: Sql) => Promise<void>,
): Promise<void> {
  try {
    await store.db.transaction(async (sql) => {
      await work(sql);
      await takeHeld(sql, held);
    });
  } catch (error) {
    await giveUpHeld(store, held);
    throw error;
  }
}

/** Deletes those of these blobs that no row names and nobody holds. What cannot be deleted now stays for the sweep. */
export async function freeBlobs({ db, blobs }: BlobDeps, shas: readonly string[]): Promise<void> {
  for (const sha of shas) {
    await db.transaction(async (sql) => {
      // Whoever stores the same bytes now waits here; who held them before is seen by the next statement.
      await sql.query(`SELECT pg_advisory_xact_lock(hashtext('blob'), hashtext($1))`, [sha]);
      const [row] = await sql.query<{ named: boolean }>(`SELECT ${isNamed('$1')} AS named`, [sha]);
      if (!row?.named) await blobs.delete(sha);
      await sql.query('DELETE FROM loose_blob WHERE sha = $1', [sha]);
    });
  }
}

const AT_ONCE = 500;

/** Frees what lost its last row, and what a process that died held, a day ago. */
export async function sweepBlobs(store: BlobDeps, keptMs = KEPT_MS): Promise<void> {
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
    );
    if (due.length < AT_ONCE) return;
  }
}

/** The blobs of the store that no row names, nobody holds and no sweep knows of: what was lost before holds were kept. */
export async function* strayBlobs({ db, blobs }: BlobDeps): AsyncGenerator<string> {
  let batch: string[] = [];
  for await (const sha of blobs.list()) {
    batch.push(sha);
    if (batch.length < AT_ONCE) continue;
    yield* await straysOf(db, batch);
    batch = [];
  }
  yield* await straysOf(db, batch);
}

async function straysOf(sql: Sql, shas: readonly string[]): Promise<readonly string[]> {
  if (shas.length === 0) return [];
  const rows = await sql.query<{ sha: string }>({
    name: 'stray-blobs',
    text: `SELECT sha FROM unnest($1::text[]) AS known (sha)
      WHERE NOT ${isNamed('known.sha')} AND NOT EXISTS (SELECT 1 FROM loose_blob l WHERE l.sha = known.sha)`,
    values: [shas],
  });
  return rows.map(({ sha }) => sha);
}

/** Has the sweep know of those that nobody knew of: from now on they are loose. */
export async function noteStrays(store: BlobDeps): Promise<void> {
  for await (const sha of strayBlobs(store))
    await store.db.query({
      name: 'note-stray',
      text: 'INSERT INTO loose_blob (sha) VALUES ($1) ON CONFLICT (sha) DO NOTHING',
      values: [sha],
    });
}
