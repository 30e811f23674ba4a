import type { TeamBody } from '../contract/team.js';
import type { Deps } from '../deps.js';
import type { Caller } from '../shared/roles.js';
import { MEMBER_COLUMNS, type MemberRow } from './find-member.js';
import { type InviteRow, inviteView, memberView } from './views.js';

/** Everybody in the account, in the order in which they came, and the invites that can still be accepted. */
export async function listTeam(deps: Pick<Deps, 'db'>, caller: Caller): Promise<TeamBody> {
  const [members, invites] = await Promise.all([
    deps.db.query<MemberRow>({
      name: 'list-members',
      text: `SELECT ${MEMBER_COLUMNS} WHERE m.tenant_id = $1 ORDER BY m.created_at, m.id`,
      values: [caller.tenant],
    }),
    deps.db.query<InviteRow>({
      name: 'list-invites',
      text: `SELECT id, email, role, all_workspaces AS "allWorkspaces", workspaces, created_at AS "createdAt",
                    expires_at AS "expiresAt" FROM invite
             WHERE tenant_id = $1 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()
             ORDER BY created_at, id`,
      values: [caller.tenant],
    }),
  ]);
  return {
    members: members.map((row) => memberView(caller, row)),
    invites: invites.map((row) => inviteView(caller, row)),
  };
}
