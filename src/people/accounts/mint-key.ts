import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import type { Role } from '../../shared/roles.js';
import { newKey } from './key-format.js';

export interface MintKeyInput {
  readonly tenant: string;
  readonly label: string;
  /** Never `owner`: a key of an owner has the role admin. */
  readonly role: Exclude<Role, 'owner'>;
  /** The member whose role and membership limit the key; null for a key of the system. */
  readonly mintedBy: { readonly id: string; readonly email: string } | null;
  /** Makes it a deploy key: git only, for the workspace with this id. */
  readonly deploy?: { readonly workspace: string; readonly access: 'read' | 'write' };
  readonly expiresAt?: Date;
}

export interface MintedKey {
  readonly id: string;
  readonly prefix: string;
  /** Shown once: only its hash is kept. */
  readonly key: string;
}

export async function mintKey(sql: Sql, input: MintKeyInput): Promise<MintedKey> {
  const id = newId();
  const { key, prefix, hash } = newKey();
  const { tenant, label, role, mintedBy, deploy, expiresAt } = input;
  await sql.query({
    name: 'mint-key',
    text: `INSERT INTO api_key (id, tenant_id, label, role, prefix, hash, minted_by_id, minted_by, workspace, access, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      id,
      tenant,
      label,
      role,
      prefix,
      hash,
      mintedBy?.id ?? null,
      mintedBy?.email ?? 'system',
      deploy?.workspace ?? null,
      deploy?.access ?? null,
      expiresAt ?? null,
    ],
  });
  return { id, prefix, key };
}
