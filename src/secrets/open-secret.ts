import type { InstallKeys } from '../platform/config/index.js';
import type { Sql } from '../platform/db/contract.js';
import { CannotOpen } from './envelope.js';
import type { OpenedSecret, SecretPlace } from './model.js';
import { openRow, SECRET_COLUMNS, type SecretRow } from './secret-rows.js';

/**
 * The secrets of these names that a workspace (by its id) can read. A preview reads the vault of the workspace that it
 * previews.
 */
export interface SecretsInReach {
  readonly tenant: string;
  readonly workspace: string | null;
  readonly names: readonly string[];
}

/**
 * Decrypts the secrets of these names; the workspace's vault takes precedence over the account's. A missing name is
 * absent from the result; an unreadable secret is a `CannotOpen`.
 */
export async function openEach(
  sql: Sql,
  keys: InstallKeys,
  { tenant, workspace, names }: SecretsInReach,
): Promise<ReadonlyMap<string, OpenedSecret | CannotOpen>> {
  if (names.length === 0) return new Map();
  const rows = await sql.query<SecretRow>({
    name: 'secrets-open',
    text: `SELECT DISTINCT ON (name) ${SECRET_COLUMNS} FROM secret
      WHERE tenant_id = $1 AND name = ANY($3) AND (workspace_id IS NULL
        OR workspace_id = coalesce((SELECT preview_of FROM workspace WHERE id = $2), $2))
      ORDER BY name, workspace_id NULLS LAST`,
    values: [tenant, workspace, names],
  });
  return new Map(rows.map((row) => [row.name, tryRow(keys, row)]));
}

function tryRow(keys: InstallKeys, row: SecretRow): OpenedSecret | CannotOpen {
  try {
    return openRow(keys, row);
  } catch (error) {
    if (error instanceof CannotOpen) return error;
    throw error;
  }
}

/** The nearest secret of this name, or null; throws CannotOpen for one that cannot be read. `workspace` is a workspace's id, or null for the account's vault alone. */
export async function openSecret(sql: Sql, keys: InstallKeys, place: SecretPlace): Promise<OpenedSecret | null> {
  const found = (await openEach(sql, keys, { ...place, names: [place.name] })).get(place.name);
  if (found instanceof CannotOpen) throw found;
  return found ?? null;
}

/** The secret of this id, its row locked until the transaction ends; null when it is gone. */
export async function lockSecret(tx: Sql, keys: InstallKeys, id: string): Promise<OpenedSecret | null> {
  const [row] = await tx.query<SecretRow>({
    name: 'secret-lock-id',
    text: `SELECT ${SECRET_COLUMNS} FROM secret WHERE id = $1 FOR UPDATE`,
    values: [id],
  });
  return row === undefined ? null : openRow(keys, row);
}
