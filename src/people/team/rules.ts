import type { InviteBody, MemberBody } from '../../contract/team.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../../shared/roles.js';
import { avatarPath } from '../accounts/avatar-path.js';
import type { MemberRow } from './members.js';

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
  if (!now) throw new Refusal('unauthenticated', 'you are no longer a member of this account');
  const held = covers(now.all ? null : now.workspaces, caller.workspaces);
  if (atLeast(now.role, caller.role) && held) return;
  const need = atLeast(now.role, 'admin') ? caller.role : 'admin';
  throw new Refusal('forbidden', `needs role ${need}`, { need });
}

function assertOwner(caller: Caller): void {
  if (caller.role !== 'owner') throw new Refusal('forbidden', 'needs role owner', { need: 'owner' });
}

/** The workspaces that a member can access, by name; null means all. */
export type Scope = readonly string[] | null;

type ScopeColumns = Pick<TableRow<'Member'>, 'allWorkspaces' | 'workspaces'>;

export function scopeOf({ allWorkspaces, workspaces }: ScopeColumns): Scope {
  return allWorkspaces ? null : workspaces;
}

export function columnsOf(scope: Scope): ScopeColumns {
  return { allWorkspaces: scope === null, workspaces: scope ?? [] };
}

/** True when `outer` includes all of `inner`. */
export function covers(outer: Scope, inner: Scope): boolean {
  return outer === null || (inner?.every((name) => outer.includes(name)) ?? false);
}

/** The part of a scope that the caller may see, without the workspaces that the caller cannot access. */
function scopeAsSeen(caller: Pick<Caller, 'workspaces'>, scope: Scope): string[] | null {
  const seen = caller.workspaces;
  return scope === null ? null : scope.filter((name) => seen === null || seen.includes(name));
}

/**
 * The scope that the caller gives to another member: existing workspaces without duplicates, and no more than the
 * caller has. A workspace that the caller cannot access is refused as missing. The rows stay locked until the
 * transaction ends, so that a concurrent delete of a workspace finds the new member.
 */
export async function grantableScope(sql: Sql, caller: Caller, wish: Scope): Promise<Scope> {
  if (wish === null) {
    if (caller.workspaces === null) return null;
    throw accessLimited('your access is limited to some workspaces: name the ones to give');
  }
  const names = [...new Set(wish)].sort();
  const rows = await sql.query<{ name: string }>(
    'SELECT name FROM workspace WHERE tenant_id = $1 AND name = ANY($2) FOR SHARE',
    [caller.tenant, names],
  );
  const seen = new Set(
    scopeAsSeen(
      caller,
      rows.map(({ name }) => name),
    ),
  );
  const missing = names.filter((name) => !seen.has(name));
  if (missing.length === 0) return names;
  throw new Refusal('refused', `workspaces: there is no workspace ${missing.join(', ')}`, {
    code: 'no-such-workspace',
  });
}

function accessLimited(message: string): Refusal {
  return new Refusal('forbidden', message, { need: 'every workspace' });
}

export interface InviteRow
  extends Pick<TableRow<'Invite'>, 'id' | 'email' | 'allWorkspaces' | 'workspaces' | 'createdAt' | 'expiresAt'> {
  readonly role: InviteBody['role'];
}

export function memberView(caller: Caller, row: MemberRow): MemberBody {
  const { id, email, role, joinedAt, lastSeenAt, picture } = row;
  return {
    id,
    email,
    role,
    workspaces: scopeAsSeen(caller, scopeOf(row)),
    joinedAt: joinedAt.toISOString(),
    lastSeenAt: lastSeenAt?.toISOString() ?? null,
    avatar: avatarPath('user', id, picture),
  };
}

export function inviteView(caller: Caller, row: InviteRow): InviteBody {
  const { id, email, role, createdAt, expiresAt } = row;
  return {
    id,
    email,
    role,
    workspaces: scopeAsSeen(caller, scopeOf(row)),
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}
