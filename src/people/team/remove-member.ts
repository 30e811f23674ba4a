import type { RemovedMember } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { revokeInvitesOf } from './change-member.js';
import { findMember, lockTeam } from './find-member.js';
import { assertMayActOn, assertRightsUnchanged } from './rules.js';

/** Removes a member together with their sessions, their keys and the invites that they sent. */
export async function removeMember(deps: Pick<Deps, 'db'>, caller: Caller, id: string): Promise<RemovedMember> {
  return deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    const member = await findMember(sql, caller, id);
    await assertRightsUnchanged(sql, caller);
    assertMayActOn(caller, member, 'remove');
    const keys = await sql.query(
      'UPDATE api_key SET revoked_at = now() WHERE minted_by_id = $1 AND revoked_at IS NULL RETURNING 1',
      [id],
    );
    await revokeInvitesOf(sql, member);
    await sql.query(`DELETE FROM avatar WHERE tenant_id = $1 AND kind = 'user' AND id = $2`, [caller.tenant, id]);
    await sql.query('DELETE FROM session WHERE member_id = $1', [id]);
    await sql.query('DELETE FROM member WHERE id = $1', [id]);
    const { email, role } = member;
    await audit(sql, caller, 'team.remove', id, { email, role, keysRevoked: keys.length });
    return { ok: true, id, email, keysRevoked: keys.length };
  });
}
