import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../../shared/roles.js';
import type { MemberRow } from './find-member.js';
import { accessLimited, covers, type ScopeColumns, scopeOf } from './scope.js';

/**
 * The rules of the contract's section Roles for an act on a member: the owner is never re-roled or removed, members
 * cannot change their own role, only the owner acts on admins, and a caller cannot act on a member who has access to
 * more workspaces.
 */
export function assertMayActOn(caller: Caller, member: MemberRow, verb: 'change' | 'remove'): void {
  if (member.role === 'owner') {
    throw new Refusal(
      'conflict',
      'the owner’s role cannot change, and the owner cannot be removed: transfer the account first',
      {
        code: 'owner',
      },
    );
  }
  if (member.id === caller.person?.id && verb === 'change') {
    throw new Refusal('forbidden', 'you cannot change your own role or workspaces: ask another admin, or the owner', {
      need: 'another person',
      code: 'self',
    });
  }
  if (member.role === 'admin') assertOwner(caller);
  if (!covers(caller.workspaces, scopeOf(member)))
    throw accessLimited(
      'this member has access to workspaces that you do not: ask an admin who has access to all of them',
    );
}

/** Only the owner makes an admin. */
export function assertMayGive(caller: Caller, role: Role): void {
  if (role === 'admin') assertOwner(caller);
}

/** Only a member who could give an invite may revoke it. */
export function assertMayEndInvite(caller: Caller, invite: ScopeColumns & { readonly role: Role }): void {
  assertMayGive(caller, invite.role);
  if (!covers(caller.workspaces, scopeOf(invite)))
    throw accessLimited(
      'this invite gives access to workspaces that you do not have: ask an admin who has access to all of them',
    );
}

/**
 * Checks the caller's current rights under the team's lock, in case they were demoted, restricted or removed since the
 * request began.
 */
export async function assertRightsUnchanged(sql: Sql, caller: Caller): Promise<void> {
  const [now] = await sql.query<{ role: Role; all: boolean; workspaces: string[] }>({
    name: 'caller-now',
    text: `SELECT CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role,
                  m.all_workspaces OR t.owner_id = m.id AS all, with_previews(m.tenant_id, m.workspaces) AS workspaces
           FROM member m JOIN tenant t ON t.id = m.tenant_id WHERE m.id = $1 AND m.tenant_id = $2`,
    values: [caller.person?.id ?? null, caller.tenant],
  });
  if (!now) throw new Refusal('unauthenticated', 'you are not a member of this account any more');
  const held = covers(now.all ? null : now.workspaces, caller.workspaces);
  if (atLeast(now.role, caller.role) && held) return;
  const need = atLeast(now.role, 'admin') ? caller.role : 'admin';
  throw new Refusal('forbidden', `needs role ${need}`, { need });
}

function assertOwner(caller: Caller): void {
  if (caller.role !== 'owner') throw new Refusal('forbidden', 'needs role owner', { need: 'owner' });
}
