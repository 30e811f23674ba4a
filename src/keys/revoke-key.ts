import { audit } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { requireOwnTenant } from './find-tenant.js';

/** Revokes a key: it is refused from the next request on, in every process, since each asks the database. */
export async function revokeKey(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  input: { readonly id: string; readonly tenant?: string | undefined },
): Promise<{ ok: true; id: string }> {
  requireOwnTenant(caller, input.tenant);
  await deps.db.transaction(async (sql) => {
    const [key] = await sql.query<{ label: string }>(
      `UPDATE api_key k SET revoked_at = now() WHERE k.id = $1 AND k.tenant_id = $2 AND k.revoked_at IS NULL
         AND (k.workspace IS NULL OR $3::text[] IS NULL
              OR EXISTS (SELECT 1 FROM workspace w WHERE w.id = k.workspace AND w.name = ANY($3)))
       RETURNING k.label`,
      [input.id, caller.tenant, caller.workspaces],
    );
    if (!key) throw notFound('key');
    await audit(sql, caller, 'key.revoke', input.id, { label: key.label });
  });
  return { ok: true, id: input.id };
}
