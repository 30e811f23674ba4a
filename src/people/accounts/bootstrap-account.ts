import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { createAccount } from './create-account.js';
import { mintKey } from './mint-key.js';
import { hashPassword } from './passwords.js';
import { randomCode } from './primitives.js';

export interface Bootstrapped {
  readonly account: string;
  readonly email: string;
  /** An admin key. */
  readonly key: string;
  /** The owner's password, when it was generated because none was configured. */
  readonly password?: string;
}

/** An arbitrary constant: two processes that start on an empty database must not both create the account. */
const LOCK = 5_714_002;

/**
 * Creates the account, its owner and an admin key on an empty database, in one transaction. Returns null when an
 * account exists. `deliver` gets the key before the commit, so that a key that could not be written down is not
 * created.
 */
export async function bootstrapAccount(
  deps: Pick<Deps, 'config' | 'db'>,
  deliver: (made: Bootstrapped) => Promise<void> = async () => undefined,
): Promise<Bootstrapped | null> {
  if (await hasAccount(deps.db)) return null;
  const { account, email, password } = deps.config.bootstrap;
  const secret = password ?? randomCode(24);
  const passwordHash = await hashPassword(secret);
  return deps.db.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    if (await hasAccount(sql)) return null;
    const by = { kind: 'system', id: 'bootstrap', label: 'bootstrap' } as const;
    const owned = { name: account, owner: { email: email.toLowerCase(), passwordHash }, by, address: null };
    const created = await createAccount(sql, owned);
    if (typeof created === 'string') throw new Error(`an empty database has no account, and yet: ${created}`);
    const { tenant, owner } = created;
    const { key } = await mintKey(sql, { tenant, label: 'bootstrap', role: 'admin', mintedBy: owner });
    const made = { account: tenant, email: owner.email, key, ...(password === null && { password: secret }) };
    await deliver(made);
    return made;
  });
}

async function hasAccount(sql: Sql): Promise<boolean> {
  return (await sql.query('SELECT 1 FROM tenant LIMIT 1')).length > 0;
}
