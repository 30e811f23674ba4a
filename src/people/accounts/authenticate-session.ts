import type { Deps } from '../../deps.js';
import type { Caller, Role } from '../../shared/roles.js';
import { hashKey } from './key-format.js';

interface SessionRow {
  readonly sessionId: string;
  readonly id: string;
  readonly tenant: string;
  readonly email: string;
  readonly role: Role;
  readonly allWorkspaces: boolean;
  readonly workspaces: string[];
  readonly stale: boolean;
}

export interface Authenticated {
  readonly caller: Caller;
  /** True when the session was extended by 30 days, so the cookie must be renewed. */
  readonly renewed: boolean;
}

/**
 * The person of a session token, with their current role and workspaces; null for an unknown session, or when the
 * person is not a member any more.
 */
export async function authenticateSession(
  deps: Pick<Deps, 'db'>,
  token: string,
  address: string | null,
): Promise<Authenticated | null> {
  const [row] = await deps.db.query<SessionRow>({
    name: 'authenticate-session',
    text: `SELECT s.id AS "sessionId", m.id, m.tenant_id AS tenant, m.email,
                  CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role,
                  m.all_workspaces AS "allWorkspaces", with_previews(m.tenant_id, m.workspaces) AS workspaces,
                  s.last_used_at < now() - interval '1 minute' AS stale
           FROM session s JOIN member m ON m.id = s.member_id JOIN tenant t ON t.id = m.tenant_id
           WHERE s.token_hash = $1 AND s.expires_at > now()`,
    values: [hashKey(token)],
  });
  if (!row) return null;
  if (row.stale) await touch(deps, row.sessionId, address);
  return { caller: toCaller(row, address), renewed: row.stale };
}

/** At most once a minute, like for keys. */
async function touch({ db }: Pick<Deps, 'db'>, id: string, address: string | null): Promise<void> {
  await db.query({
    name: 'touch-session',
    text: `WITH used AS (
             UPDATE session SET last_used_at = now(), expires_at = now() + interval '30 days', address = coalesce($2, address)
             WHERE id = $1 AND last_used_at < now() - interval '1 minute' RETURNING member_id)
           UPDATE member SET last_seen_at = now() WHERE id IN (SELECT member_id FROM used)`,
    values: [id, address],
  });
}

function toCaller({ sessionId, id, tenant, email, role, ...row }: SessionRow, address: string | null): Caller {
  return {
    tenant,
    role,
    workspaces: role === 'owner' || row.allWorkspaces ? null : row.workspaces,
    actor: { kind: 'person', id, label: email },
    person: { id, email },
    signedIn: true,
    session: sessionId,
    address,
  };
}
