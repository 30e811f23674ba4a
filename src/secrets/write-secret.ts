import type { InstallKeys } from '../platform/config/index.js';
import type { Sql } from '../platform/db/contract.js';
import { newId } from '../shared/ids.js';
import { type SealedAt, seal } from './envelope/seal.js';
import type { SecretPlace, SecretValue } from './model.js';
import { contentOf, lockRow, type SecretRow } from './secret-rows.js';

/** Stores a checked value, replacing an older one. Returns whether it created the secret. */
export async function writeSecret(
  tx: Sql,
  keys: InstallKeys,
  { value, ...place }: SecretPlace & { readonly value: SecretValue },
): Promise<{ readonly id: string; readonly created: boolean }> {
  const made = (await lockRow(tx, place)) === undefined ? await insert(tx, keys, place, value) : null;
  if (made !== null) return { id: made, created: true };
  // Another writer may have been first: then replace its row.
  const row = await lockRow(tx, place);
  if (row === undefined) throw new Error(`the secret ${place.name} came and went while it was stored`);
  await update(tx, keys, row, value);
  return { id: row.id, created: false };
}

/** Its id; null when a secret of this name was created meanwhile. */
async function insert(tx: Sql, keys: InstallKeys, place: SecretPlace, value: SecretValue): Promise<string | null> {
  const { keyId, wrappedKey, sealed } = seal(keys, { ...place, version: 1 }, contentOf(value));
  const [row] = await tx.query<{ id: string }>({
    name: 'secret-insert',
    text: `INSERT INTO secret (id, tenant_id, workspace_id, name, shape, key_id, wrapped_key, sealed)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, workspace_id, name) DO NOTHING RETURNING id`,
    values: [newId(), place.tenant, place.workspace, place.name, value.shape, keyId, wrappedKey, sealed],
  });
  return row?.id ?? null;
}

async function update(tx: Sql, keys: InstallKeys, row: SecretRow, value: SecretValue): Promise<void> {
  const at: SealedAt = { ...row, version: row.version + 1 };
  const { keyId, wrappedKey, sealed } = seal(keys, at, contentOf(value));
  await tx.query({
    name: 'secret-update',
    text: `UPDATE secret SET shape = $2, version = $3, key_id = $4, wrapped_key = $5, sealed = $6, status = 'ok',
      updated_at = now() WHERE id = $1`,
    values: [row.id, value.shape, at.version, keyId, wrappedKey, sealed],
  });
}

/**
 * Stores what the service itself learned of a secret, such as a rotated refresh token, unless a person stored another
 * version meanwhile. Returns the new version, or null when it came too late.
 */
export async function replaceSecret(
  tx: Sql,
  keys: InstallKeys,
  { id, version, value }: { readonly id: string; readonly version: number; readonly value: SecretValue },
): Promise<number | null> {
  const [row] = await tx.query<SealedAt>({
    name: 'secret-version',
    text: `SELECT tenant_id AS tenant, workspace_id AS workspace, name, version + 1 AS version FROM secret
      WHERE id = $1 AND version = $2 FOR UPDATE`,
    values: [id, version],
  });
  if (row === undefined) return null;
  const { keyId, wrappedKey, sealed } = seal(keys, row, contentOf(value));
  await tx.query({
    name: 'secret-replace',
    text: `UPDATE secret SET shape = $2, version = $3, key_id = $4, wrapped_key = $5, sealed = $6, status = 'ok' WHERE id = $1`,
    values: [id, value.shape, row.version, keyId, wrappedKey, sealed],
  });
  return row.version;
}

/** Marks a value that the provider no longer accepts: a person must reconnect. Keeps the value, and any newer one. */
export async function markReconnect(sql: Sql, { id, version }: { id: string; version: number }): Promise<void> {
  await sql.query({
    name: 'secret-reconnect',
    text: `UPDATE secret SET status = 'reconnect' WHERE id = $1 AND version = $2`,
    values: [id, version],
  });
}
