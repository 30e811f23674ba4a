import type { SessionList, SessionView } from '../../contract/auth.js';
import type { Deps } from '../../deps.js';
import type { Config } from '../../platform/config/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { type PageInput, timeCursors } from '../../shared/cursor.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller, Role } from '../../shared/roles.js';
import { whoAmI } from './account.js';
import { hashKey } from './api-keys.js';
import { audit } from './audit.js';
import { CookieController, TimeSpan } from './primitives.js';

interface SessionRow extends Pick<TableRow<'Member'>, 'id' | 'email' | 'allWorkspaces' | 'workspaces'> {
  readonly sessionId: string;
  readonly tenant: string;
  readonly role: Role;
  readonly stale: boolean;
}

interface Authenticated {
  readonly caller: Caller;
  /** True when the session was extended by 30 days, so the cookie must be renewed. */
  readonly renewed: boolean;
}

/**
 * The person of a session token, with their current role and workspaces; null for an unknown session, or when the
 * person is no longer a member.
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

const cursors = timeCursors('sessions');

const SHOWN = { id: true, device: true, address: true, createdAt: true, lastUsedAt: true, expiresAt: true } as const;

export const SESSION_COOKIE = 'service_session';

type Row = Pick<TableRow<'Session'>, keyof typeof SHOWN>;

/** The open sessions of the caller, last used first. */
export async function listSessions(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  { limit, cursor }: PageInput,
): Promise<SessionList> {
  const after = cursors.read(cursor);
  const rows: Row[] =
    caller.person === null
      ? []
      : await deps.db.prisma.session.findMany({
          select: SHOWN,
          where: {
            memberId: caller.person.id,
            expiresAt: { gt: new Date(deps.clock.now()) },
            ...(after && {
              lastUsedAt: { lte: after.at },
              OR: [{ lastUsedAt: { lt: after.at } }, { id: { lt: after.id } }],
            }),
          },
          orderBy: [{ lastUsedAt: 'desc' }, { id: 'desc' }],
          take: limit + 1,
        });
  const { page, next } = cursors.page(rows, limit, ({ lastUsedAt: at, id }) => ({ at, id }));
  return { sessions: page.map((row) => ({ ...toView(row), current: row.id === caller.session })), next };
}

/** The caller, with their session; null for a key. */
export async function readSession(deps: Deps, caller: Caller): Promise<SessionView> {
  const own = caller.signedIn ? caller.person?.id : undefined;
  const { session: id } = caller;
  const [me, person, session] = await Promise.all([
    whoAmI(deps, caller),
    own === undefined ? null : deps.db.prisma.member.findFirst({ select: { timezone: true }, where: { id: own } }),
    id === undefined ? null : deps.db.prisma.session.findFirst({ select: SHOWN, where: { id } }),
  ]);
  return { ...me, timezone: person?.timezone ?? null, session: session ? toView(session) : null };
}

function toView({ createdAt, lastUsedAt, expiresAt, ...rest }: Row) {
  return {
    ...rest,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}

/** Ends one session of the calling person by its id, or all but the calling one. Returns how many ended. */
export async function endSessions(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  which: { readonly id: string } | 'others',
): Promise<number> {
  return deps.db.transaction(async (sql) => {
    if (which === 'others') return endOthers(sql, caller);
    const ended = await sql.query('DELETE FROM session WHERE id = $1 AND member_id = $2 RETURNING 1', [
      which.id,
      caller.person?.id ?? null,
    ]);
    if (ended.length === 0) throw notFound('session');
    await audit(sql, caller, 'session.end', which.id);
    return ended.length;
  });
}

export async function endOthers(sql: Sql, caller: Caller): Promise<number> {
  const ended = await sql.query('DELETE FROM session WHERE member_id = $1 AND id IS DISTINCT FROM $2 RETURNING 1', [
    caller.person?.id ?? null,
    caller.session ?? null,
  ]);
  if (ended.length > 0) await audit(sql, caller, 'session.end', 'others', { count: ended.length });
  return ended.length;
}

/** Ends the calling session, if the caller has one. */
export async function logOut(deps: Pick<Deps, 'db'>, caller: Caller): Promise<void> {
  const { session } = caller;
  if (session === undefined) return;
  await deps.db.transaction(async (sql) => {
    await sql.query('DELETE FROM session WHERE id = $1', [session]);
    await audit(sql, caller, 'session.end', session);
  });
}

/** The `Set-Cookie` header for a session's token; null deletes the cookie. Valid for 30 days from the last use. */
export function sessionCookie({ publicUrl }: Pick<Config, 'publicUrl'>, token: string | null): string {
  const secure = publicUrl?.startsWith('https:') ?? false;
  const attributes = { httpOnly: true, sameSite: 'lax', path: '/', secure } as const;
  const controller = new CookieController(SESSION_COOKIE, attributes, { expiresIn: new TimeSpan(30, 'd') });
  return (token === null ? controller.createBlankCookie() : controller.createCookie(token)).serialize();
}
