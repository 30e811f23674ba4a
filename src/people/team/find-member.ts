import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller, Role } from '../../shared/roles.js';
import type { ScopeColumns } from './scope.js';

export interface MemberRow extends ScopeColumns {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly joinedAt: Date;
  readonly lastSeenAt: Date | null;
  /** The digest of their picture. */
  readonly picture: string | null;
}

export const MEMBER_COLUMNS = `m.id, m.email, CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role,
  m.all_workspaces OR t.owner_id = m.id AS "allWorkspaces", m.workspaces, m.created_at AS "joinedAt",
  m.last_seen_at AS "lastSeenAt",
  (SELECT a.sha FROM avatar a WHERE a.tenant_id = m.tenant_id AND a.kind = 'user' AND a.id = m.id) AS picture
  FROM member m JOIN tenant t ON t.id = m.tenant_id`;

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
