import type { InstallKeys } from '../platform/config/index.js';
import type { Db, Sql } from '../platform/db/contract.js';
import { CannotOpen, clientPlace, type Envelope, rewrap, type SealedAt } from './envelope.js';
import { SECRET_COLUMNS, type SecretRow } from './secret-rows.js';

const BATCH = 200;

export interface Rotation {
  /** How many were rewrapped by this call. */
  readonly rewrapped: number;
  /** Why some were not rewrapped, a sentence each. */
  readonly stuck: readonly string[];
  /** The number of secrets, including those of OAuth clients, by the id of the install key that wraps them now. */
  readonly byKey: ReadonlyMap<string, number>;
}

type Row = Envelope & { readonly id: string };

interface SealedTable {
  readonly table: string;
  readonly columns: string;
  readonly place: (row: Row) => SealedAt;
}

/** The tables whose wrapped keys live longer than a few minutes or hours, and the place of each row. */
const TABLES: readonly SealedTable[] = [
  { table: 'secret', columns: SECRET_COLUMNS, place: (row) => row as SecretRow },
  {
    table: 'oauth_client',
    columns: 'id, tenant_id AS tenant, key_id AS "keyId", wrapped_key AS "wrappedKey", sealed',
    place: (row) => clientPlace(row as Row & { readonly tenant: string }),
  },
];

/**
 * Rewraps the data key of every secret under the first install key, in batches that commit separately: it may be
 * interrupted and repeated, and runs continue meanwhile. It neither reads nor changes the secrets themselves.
 */
export async function rotateKeys(
  db: Db,
  keys: InstallKeys,
  onBatch: (done: number) => void = () => undefined,
): Promise<Rotation> {
  const first = keys.ring[0]?.id ?? '';
  const stuck: string[] = [];
  let rewrapped = 0;
  for (const sealed of TABLES) {
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after;
      const batch = await db.transaction((tx) => rewrapBatch(tx, keys, { sealed, first, from }));
      rewrapped += batch.rewrapped;
      stuck.push(...batch.stuck);
      after = batch.last;
      if (batch.rewrapped > 0) onBatch(rewrapped);
    }
  }
  const all = TABLES.map(({ table }) => `SELECT key_id FROM ${table} WHERE key_id IS NOT NULL`).join(' UNION ALL ');
  const counts = await db.query<{ keyId: string; count: number }>(
    `SELECT key_id AS "keyId", count(*)::int AS count FROM (${all}) AS every GROUP BY key_id ORDER BY key_id`,
  );
  return { rewrapped, stuck, byKey: new Map(counts.map(({ keyId, count }) => [keyId, count])) };
}

interface Batch {
  readonly rewrapped: number;
  readonly stuck: readonly string[];
  /** Null after the last one. */
  readonly last: string | null;
}

async function rewrapBatch(
  tx: Sql,
  keys: InstallKeys,
  { sealed: { table, columns, place }, first, from }: { sealed: SealedTable; first: string; from: string },
): Promise<Batch> {
  const rows = await tx.query<Row>({
    name: `${table}-to-rewrap`,
    text: `SELECT ${columns} FROM ${table} WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT ${BATCH} FOR UPDATE`,
    values: [first, from],
  });
  const stuck: string[] = [];
  let rewrapped = 0;
  for (const row of rows) {
    try {
      const { keyId, wrappedKey } = rewrap(keys, place(row), row);
      await tx.query({
        name: `${table}-rewrap`,
        text: `UPDATE ${table} SET key_id = $2, wrapped_key = $3 WHERE id = $1`,
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
