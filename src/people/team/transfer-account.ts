import type { Transferred } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { lockTeam } from './find-member.js';

/**
 * Makes another member the owner; the caller becomes an admin. One statement moves the ownership, and only from the
 * caller, so of two concurrent transfers one succeeds and there is always exactly one owner.
 */
export async function transferAccount(deps: Pick<Deps, 'db'>, caller: Caller, to: string): Promise<Transferred> {
  return deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    const [heir] = await sql.query<{ id: string; email: string }>(
      'SELECT id, email FROM member WHERE tenant_id = $1 AND (id = $2 OR email = lower($2))',
      [caller.tenant, to],
    );
    if (!heir) throw notFound('member');
    if (heir.id === caller.person?.id) throw new Refusal('conflict', 'you are the owner already', { code: 'owner' });
    const moved = await sql.query('UPDATE tenant SET owner_id = $3 WHERE id = $1 AND owner_id = $2 RETURNING 1', [
      caller.tenant,
      caller.person?.id ?? null,
      heir.id,
    ]);
    if (moved.length === 0) throw new Refusal('forbidden', 'needs role owner', { need: 'owner' });
    await sql.query(`UPDATE member SET role = 'admin', all_workspaces = true WHERE id = ANY($1)`, [
      [heir.id, caller.person?.id],
    ]);
    // Only the owner may invite admins, so the open admin invites of the former owner end.
    await sql.query(
      `UPDATE invite SET revoked_at = now()
       WHERE tenant_id = $1 AND role = 'admin' AND accepted_at IS NULL AND revoked_at IS NULL`,
      [caller.tenant],
    );
    await audit(sql, caller, 'team.transfer', heir.id, { email: heir.email });
    return { ok: true, owner: heir };
  });
}
