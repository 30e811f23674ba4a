import type { KeyBody } from '../../contract/keys.js';

export interface KeyRow {
  readonly id: string;
  readonly label: string;
  readonly tenant: string;
  readonly role: KeyBody['role'] | null;
  readonly prefix: string;
  readonly mintedBy: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  /** The workspace's name; only for a deploy key. */
  readonly workspace: string | null;
  readonly access: NonNullable<KeyBody['access']> | null;
}

export const KEY_COLUMNS = `k.id, k.label, k.tenant_id AS tenant, k.role, k.prefix, k.minted_by AS "mintedBy",
  k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt", k.expires_at AS "expiresAt", w.name AS workspace, k.access
  FROM api_key k LEFT JOIN workspace w ON w.id = k.workspace`;

/**
 * SQL, with `k`, its workspace `w`, its account `t` and its minter `m`: the names of the workspaces that a key can
 * access, by its own scope or by its minter's; null means all of them.
 */
export const KEY_REACH = `CASE WHEN k.workspace IS NOT NULL THEN ARRAY[w.name]
  WHEN m.id IS NULL OR t.owner_id = m.id OR m.all_workspaces THEN NULL ELSE m.workspaces END`;

/** SQL: the account and the minter of a key, beside `api_key k`. */
export const KEY_OWNERS = `JOIN tenant t ON t.id = k.tenant_id
  LEFT JOIN member m ON m.id = k.minted_by_id AND m.tenant_id = k.tenant_id`;

export function keyView({ role, workspace, access, ...row }: KeyRow): KeyBody {
  return {
    ...row,
    role: role ?? 'admin',
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    ...(workspace !== null && access !== null && { workspace, access }),
  };
}
