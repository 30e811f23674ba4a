import type { ChangedMember, InviteBody } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { atLeast, type Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { findMember, lockTeam, type MemberRow } from './find-member.js';
import { assertMayActOn, assertMayGive, assertRightsUnchanged } from './rules.js';
import { columnsOf, covers, grantableScope, type Scope, scopeOf } from './scope.js';
import { memberView } from './views.js';

export interface ChangeMemberInput {
  readonly id: string;
  readonly role?: InviteBody['role'] | undefined;
  readonly workspaces?: Scope | undefined;
}

/** Changes a member's role, workspaces or both. The change applies from their next request on. */
export async function changeMember(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  input: ChangeMemberInput,
): Promise<ChangedMember> {
  return deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    const before = await findMember(sql, caller, input.id);
    await assertRightsUnchanged(sql, caller);
    assertMayActOn(caller, before, 'change');
    const role = input.role ?? before.role;
    assertMayGive(caller, role);
    const scope =
      input.workspaces === undefined ? scopeOf(before) : await grantableScope(sql, caller, input.workspaces);
    const { allWorkspaces, workspaces } = columnsOf(scope);
    await sql.query('UPDATE member SET role = $2, all_workspaces = $3, workspaces = $4 WHERE id = $1', [
      before.id,
      role,
      allWorkspaces,
      workspaces,
    ]);
    const less = !atLeast(role, before.role) || !covers(scope, scopeOf(before));
    const invitesRevoked = less ? await revokeInvitesOf(sql, before) : 0;
    const detail = {
      email: before.email,
      role: { from: before.role, to: role },
      workspaces: { from: scopeOf(before), to: scope },
    };
    await audit(sql, caller, 'team.change', before.id, detail);
    return { ...memberView(caller, await findMember(sql, caller, before.id)), invitesRevoked };
  });
}

/** Revokes the invites of a member who may no longer give what these offer. */
export async function revokeInvitesOf(sql: Sql, member: Pick<MemberRow, 'id'>): Promise<number> {
  const revoked = await sql.query(
    `UPDATE invite SET revoked_at = now()
     WHERE created_by = $1 AND accepted_at IS NULL AND revoked_at IS NULL RETURNING 1`,
    [member.id],
  );
  return revoked.length;
}
