import type { Sql } from '../db/contract.js';
import { Refusal } from '../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../shared/roles.js';
import type { MemberRow } from './find-member.js';
import { covers, narrowed, type ScopeColumns, scopeOf } from './scope.js';

/**
 * The rules of the interface's section Roles for an act against a member: the owner is never re-roled or removed,
 * nobody changes their own role, admins are the owner's matter, and nobody acts beyond the workspaces they see.
 */
export function assertMayActOn(caller: Caller, member: MemberRow, verb: 'change' | 'remove'): void {
  if (member.role === 'owner') {
    throw new Refusal('conflict', `the owner can be neither re-roled nor removed: transfer the account first`, {
      code: 'owner',
    });
  }
  if (member.id === caller.person?.id && verb === 'change') {
    throw new Refusal('forbidden', 'nobody changes their own role or workspaces: ask another admin, or the owner', {
      need: 'another person',
      code: 'self',
    });
  }
  if (member.role === 'admin') assertOwner(caller);
  if (!covers(caller.workspaces, scopeOf(member)))
    throw narrowed('this member sees workspaces that you do not: only one who sees them too may act on them');
}

/** Only the owner makes an admin. */
export function assertMayGive(caller: Caller, role: Role): void {
  if (role === 'admin') assertOwner(caller);
}

/** Who ends an invite is one who could have given it. */
export function assertMayEndInvite(caller: Caller, invite: ScopeColumns & { readonly role: Role }): void {
  assertMayGive(caller, invite.role);
  if (!covers(caller.workspaces, scopeOf(invite)))
    throw narrowed('this invite gives workspaces that you do not see: only one who sees them too may revoke it');
}

/**
 * The caller as they are now, under the lock of the team: one who was demoted, narrowed or removed since the request
 * began acts on nobody any more.
 */
export async function assertStill(sql: Sql, caller: Caller): Promise<void> {
  const [now] = await sql.query<{ role: Role; all: boolean; workspaces: string[] }>({
    name: 'caller-now',
    text: `SELECT CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role,
                  m.all_workspaces OR t.owner_id = m.id AS all, with_previews(m.tenant_id, m.workspaces) AS workspaces
           FROM member m JOIN tenant t ON t.id = m.tenant_id WHERE m.id = $1 AND m.tenant_id = $2`,
    values: [caller.person?.id ?? null, caller.tenant],
  });
  if (!now) throw new Refusal('unauthenticated', 'you are no member of this account any more');
  const held = covers(now.all ? null : now.workspaces, caller.workspaces);
  if (atLeast(now.role, caller.role) && held) return;
  const need = atLeast(now.role, 'admin') ? caller.role : 'admin';
  throw new Refusal('forbidden', `needs role ${need}`, { need });
}

function assertOwner(caller: Caller): void {
  if (caller.role !== 'owner') throw new Refusal('forbidden', 'needs role owner', { need: 'owner' });
}
