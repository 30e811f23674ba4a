import type { InstallKeys } from '../config/index.js';
import type { Db, Sql } from '../db/contract.js';
import { CannotOpen, rewrap } from './envelope/seal.js';
import { SECRET_COLUMNS, type SecretRow } from './secret-rows.js';

const BATCH = 200;

export interface Rotation {
  /** How many were wrapped anew by this call. */
  readonly rewrapped: number;
  /** Why some stay as they are, a sentence each. */
  readonly stuck: readonly string[];
  /** Secrets by the id of the install key that wraps them now. */
  readonly byKey: ReadonlyMap<string, number>;
}

/**
 * Wraps the data key of every secret under the first install key, batch by batch, each committed by itself: it may be
 * cut anywhere and repeated, and runs go on meanwhile. What a secret holds is neither read nor changed.
 */
export async function rotateKeys(
  db: Db,
  keys: InstallKeys,
  onBatch: (done: number) => void = () => undefined,
): Promise<Rotation> {
  const first = keys.ring[0]?.id ?? '';
  const stuck: string[] = [];
  let rewrapped = 0;
  for (let after: string | null = ''; after !== null; ) {
    const from: string = after;
    const batch = await db.transaction((tx) => rewrapBatch(tx, keys, { first, from }));
    rewrapped += batch.rewrapped;
    stuck.push(...batch.stuck);
    after = batch.last;
    if (batch.rewrapped > 0) onBatch(rewrapped);
  }
  const counts = await db.query<{ keyId: string; count: number }>(
    'SELECT key_id AS "keyId", count(*)::int AS count FROM secret GROUP BY key_id ORDER BY key_id',
  );
  return { rewrapped, stuck, byKey: new Map(counts.map(({ keyId, count }) => [keyId, count])) };
}

async function rewrapBatch(
  tx: Sql,
  keys: InstallKeys,
  { first, from }: { readonly first: string; readonly from: string },
): Promise<{ readonly rewrapped: number; readonly stuck: readonly string[]; readonly last: string | null }> {
  const rows = await tx.query<SecretRow>({
    name: 'secrets-to-rewrap',
    text: `SELECT ${SECRET_COLUMNS} FROM secret WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT ${BATCH} FOR UPDATE`,
    values: [first, from],
  });
  const stuck: string[] = [];
  let rewrapped = 0;
  for (const row of rows) {
    try {
      const { keyId, wrappedKey } = rewrap(keys, row, row);
      await tx.query({
        name: 'secret-rewrap',
        text: 'UPDATE secret SET key_id = $2, wrapped_key = $3 WHERE id = $1',
        values: [row.id, keyId, wrappedKey],
      });
      rewrapped += 1;
    } catch (error) {
      if (!(error instanceof CannotOpen)) throw error;
      stuck.push(error.message);
    }
  }
  return { rewrapped, stuck, last: rows.length === BATCH ? (rows.at(-1)?.id ?? null) : null };
}
