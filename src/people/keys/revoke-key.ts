import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { requireOwnTenant } from './find-tenant.js';
import { KEY_OWNERS, KEY_REACH } from './key-view.js';

/**
 * Revokes a key. Every process refuses it from the next request on, since each request reads the key's row. A caller
 * whose access is limited to some workspaces may revoke only keys limited to these: a key with access to more is
 * refused as forbidden, and one with access to none of them as missing.
 */
export async function revokeKey(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  input: { readonly id: string; readonly tenant?: string | undefined },
): Promise<{ ok: true; id: string }> {
  requireOwnTenant(caller, input.tenant);
  await deps.db.transaction(async (sql) => {
    const { label } = await findRevocable(sql, caller, input.id);
    await sql.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [input.id]);
    await audit(sql, caller, 'key.revoke', input.id, { label });
  });
  return { ok: true, id: input.id };
}

async function findRevocable(sql: Sql, caller: Caller, id: string): Promise<{ readonly label: string }> {
  const [key] = await sql.query<{ label: string; reach: string[] | null }>(
    `SELECT k.label, ${KEY_REACH} AS reach FROM api_key k ${KEY_OWNERS} LEFT JOIN workspace w ON w.id = k.workspace
      WHERE k.id = $1 AND k.tenant_id = $2 AND k.revoked_at IS NULL FOR UPDATE OF k`,
    [id, caller.tenant],
  );
  const seen = caller.workspaces;
  if (!key) throw notFound('key');
  const reached = key.reach?.map((name) => seen === null || seen.includes(name));
  if (seen === null || reached?.every(Boolean)) return key;
  if (reached && !reached.some(Boolean)) throw notFound('key');
  throw new Refusal(
    'forbidden',
    'this key reaches workspaces that you do not see: an admin of every workspace can revoke it',
    { need: 'every workspace' },
  );
}
