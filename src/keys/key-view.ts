import type { KeyBody } from '../contract/keys.js';

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
  /** Of a deploy key: the workspace's name. */
  readonly workspace: string | null;
  readonly access: NonNullable<KeyBody['access']> | null;
}

export const KEY_COLUMNS = `k.id, k.label, k.tenant_id AS tenant, k.role, k.prefix, k.minted_by AS "mintedBy",
  k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt", k.expires_at AS "expiresAt", w.name AS workspace, k.access
  FROM api_key k LEFT JOIN workspace w ON w.id = k.workspace`;

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
