import type { Sql } from '../../platform/db/contract.js';
import { foldName, newId } from '../../shared/ids.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from './audit.js';

export interface NewAccount {
  /** The display name; its folded form is the tenant's id. */
  readonly name: string;
  readonly owner: { readonly email: string; readonly passwordHash: string };
  /** Null when the owner creates the account. */
  readonly by: Caller['actor'] | null;
  readonly address: string | null;
}

export interface CreatedAccount {
  readonly tenant: string;
  readonly owner: { readonly id: string; readonly email: string };
}

/** Creates the account and its owner. Returns which of the two already exists; the caller must then roll back. */
export async function createAccount(
  sql: Sql,
  { name, owner: { email, passwordHash }, by, address }: NewAccount,
): Promise<CreatedAccount | 'account-taken' | 'address-taken'> {
  const tenant = foldName(name);
  const owner = { id: newId(), email };
  const accounts = await sql.query(
    'INSERT INTO tenant (id, name, owner_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1',
    [tenant, name, owner.id],
  );
  if (accounts.length === 0) return 'account-taken';
  const members = await sql.query(
    `INSERT INTO member (id, tenant_id, email, role, password_hash, workspaces) VALUES ($1, $2, $3, 'admin', $4, '{}')
     ON CONFLICT DO NOTHING RETURNING 1`,
    [owner.id, tenant, email, passwordHash],
  );
  if (members.length === 0) return 'address-taken';
  const actor = by ?? { kind: 'person', id: owner.id, label: email };
  await audit(sql, { tenant, actor, address }, 'account.create', tenant);
  return { tenant, owner };
}
