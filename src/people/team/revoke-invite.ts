import type { Deps } from '../../deps.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { findInvite } from './find-invite.js';
import { lockTeam } from './find-member.js';
import { assertMayEndInvite, assertRightsUnchanged } from './rules.js';

/** Revokes an open invite, which voids its link. An invite that is being accepted at the same time is not open. */
export async function revokeInvite(deps: Pick<Deps, 'db'>, caller: Caller, id: string): Promise<{ ok: true }> {
  await deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    const invite = await findInvite(sql, caller, id);
    await assertRightsUnchanged(sql, caller);
    assertMayEndInvite(caller, invite);
    const revoked = await sql.query(
      'UPDATE invite SET revoked_at = now() WHERE id = $1 AND accepted_at IS NULL AND revoked_at IS NULL RETURNING 1',
      [id],
    );
    if (revoked.length === 0) throw notFound('invite');
    await audit(sql, caller, 'team.invite-revoke', invite.email, { invite: id });
  });
  return { ok: true };
}
