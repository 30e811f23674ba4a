import type { ChangedMember, InviteBody, RemovedMember, TeamBody, Transferred } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { cursorsOf, type PageInput } from '../../shared/cursor.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import {
  assertMayActOn,
  assertMayGive,
  assertRightsUnchanged,
  columnsOf,
  covers,
  grantableScope,
  type InviteRow,
  inviteView,
  memberView,
  type Scope,
  scopeOf,
} from './rules.js';

const MEMBER_COLUMNS = `m.id, m.email, CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role,
  m.all_workspaces OR t.owner_id = m.id AS "allWorkspaces", m.workspaces, m.created_at AS "joinedAt",
  m.last_seen_at AS "lastSeenAt",
  (SELECT a.sha FROM avatar a WHERE a.tenant_id = m.tenant_id AND a.kind = 'user' AND a.id = m.id) AS picture
  FROM member m JOIN tenant t ON t.id = m.tenant_id`;

/** The cursor of a list of two kinds, members first: the kind, the time and the id of a row. */
const cursors = cursorsOf('team', [/^(member|invite)$/, /^\d{1,15}$/, /^[\w-]{1,64}$/]);

type Entry =
  | { readonly kind: 'member'; readonly row: MemberRow }
  | { readonly kind: 'invite'; readonly row: InviteRow };

interface After {
  readonly at: Date;
  readonly id: string;
}

/** The members of the account, oldest first, then the open invites, as one list for `limit` and `cursor`. */
export async function listTeam(deps: Pick<Deps, 'db' | 'clock'>, caller: Caller, page: PageInput): Promise<TeamBody> {
  const [kind, at, id = ''] = cursors.read(page.cursor) ?? [];
  const after = kind === undefined ? null : { at: new Date(Number(at)), id };
  const most = page.limit + 1;
  const entries: Entry[] = kind === 'invite' ? [] : await readMembers(deps, caller, after, most);
  if (entries.length < most) {
    const invites = await readInvites(deps, caller, kind === 'invite' ? after : null, most - entries.length);
    entries.push(...invites);
  }
  const { page: shown, next } = cursors.page(entries, page.limit, placeOf);
  return {
    members: shown.flatMap((entry) => (entry.kind === 'member' ? [memberView(caller, entry.row)] : [])),
    invites: shown.flatMap((entry) => (entry.kind === 'invite' ? [inviteView(caller, entry.row)] : [])),
    next,
  };
}

function placeOf(entry: Entry): readonly string[] {
  const at = entry.kind === 'member' ? entry.row.joinedAt : entry.row.createdAt;
  return [entry.kind, String(at.getTime()), entry.row.id];
}

async function readMembers({ db }: Pick<Deps, 'db'>, { tenant }: Caller, after: After | null, most: number) {
  const rows = await db.query<MemberRow>({
    name: 'list-members',
    text: `SELECT ${MEMBER_COLUMNS} WHERE m.tenant_id = $1
      AND ($2::timestamptz IS NULL OR (m.created_at, m.id) > ($2, $3)) ORDER BY m.created_at, m.id LIMIT $4`,
    values: [tenant, after?.at ?? null, after?.id ?? null, most],
  });
  return rows.map((row): Entry => ({ kind: 'member', row }));
}

async function readInvites(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { tenant }: Caller,
  after: After | null,
  most: number,
) {
  const rows = await db.prisma.invite.findMany({
    omit: { tenantId: true, tokenHash: true, createdBy: true },
    where: {
      tenantId: tenant,
      acceptedAt: null,
      revokedAt: null,
      expiresAt: { gt: new Date(clock.now()) },
      ...(after && { createdAt: { gte: after.at }, OR: [{ createdAt: { gt: after.at } }, { id: { gt: after.id } }] }),
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: most,
  });
  return rows.map((row): Entry => ({ kind: 'invite', row: { ...row, role: row.role as InviteRow['role'] } }));
}

export interface MemberRow
  extends Pick<TableRow<'Member'>, 'id' | 'email' | 'allWorkspaces' | 'workspaces' | 'lastSeenAt'> {
  readonly role: Role;
  readonly joinedAt: Date;
  /** The digest of their picture. */
  readonly picture: string | null;
}

/** A member of the caller's account, by id. A member of another account is refused as missing. */
export async function findMember(sql: Sql, caller: Pick<Caller, 'tenant'>, id: string): Promise<MemberRow> {
  const [row] = await sql.query<MemberRow>({
    name: 'find-member',
    text: `SELECT ${MEMBER_COLUMNS} WHERE m.tenant_id = $1 AND m.id = $2`,
    values: [caller.tenant, id],
  });
  if (!row) throw notFound('member');
  return row;
}

/** Serializes changes of a team, so that the owner and the admins cannot change between the check and the write. */
export async function lockTeam(sql: Sql, caller: Pick<Caller, 'tenant'>): Promise<void> {
  await sql.query({
    name: 'lock-team',
    text: 'SELECT 1 FROM tenant WHERE id = $1 FOR UPDATE',
    values: [caller.tenant],
  });
}

interface ChangeMemberInput {
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
async function revokeInvitesOf(sql: Sql, member: Pick<MemberRow, 'id'>): Promise<number> {
  const revoked = await sql.query(
    `UPDATE invite SET revoked_at = now()
     WHERE created_by = $1 AND accepted_at IS NULL AND revoked_at IS NULL RETURNING 1`,
    [member.id],
  );
  return revoked.length;
}

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

/**
 * Makes another member the owner; the caller becomes an admin. One statement moves the ownership, and only from the
 * caller, so of two concurrent transfers one succeeds and there is always exactly one owner.
 */
export async function transferAccount(deps: Pick<Deps, 'db'>, caller: Caller, to: string): Promise<Transferred> {
  return deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    const [newOwner] = await sql.query<{ id: string; email: string }>(
      'SELECT id, email FROM member WHERE tenant_id = $1 AND (id = $2 OR email = lower($2))',
      [caller.tenant, to],
    );
    if (!newOwner) throw notFound('member');
    if (newOwner.id === caller.person?.id)
      throw new Refusal('conflict', 'you are the owner already', { code: 'owner' });
    const moved = await sql.query('UPDATE tenant SET owner_id = $3 WHERE id = $1 AND owner_id = $2 RETURNING 1', [
      caller.tenant,
      caller.person?.id ?? null,
      newOwner.id,
    ]);
    if (moved.length === 0) throw new Refusal('forbidden', 'needs role owner', { need: 'owner' });
    await sql.query(`UPDATE member SET role = 'admin', all_workspaces = true WHERE id = ANY($1)`, [
      [newOwner.id, caller.person?.id],
    ]);
    // Only the owner may invite admins, so the open admin invites of the former owner end.
    await sql.query(
      `UPDATE invite SET revoked_at = now()
       WHERE tenant_id = $1 AND role = 'admin' AND accepted_at IS NULL AND revoked_at IS NULL`,
      [caller.tenant],
    );
    await audit(sql, caller, 'team.transfer', newOwner.id, { email: newOwner.email });
    return { ok: true, owner: newOwner };
  });
}
