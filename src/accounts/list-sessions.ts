import type { SessionEntry, SessionView } from '../contract/auth.js';
import type { Deps } from '../deps.js';
import type { Caller } from '../shared/roles.js';
import { whoAmI } from './who-am-i.js';

interface Row {
  readonly id: string;
  readonly device: string | null;
  readonly address: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
}

const COLUMNS = `id, device, address, created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt"`;

/** The open sessions of the caller, the one used last first. */
export async function listSessions(deps: Pick<Deps, 'db'>, caller: Caller): Promise<readonly SessionEntry[]> {
  const rows = await deps.db.query<Row>({
    name: 'list-sessions',
    text: `SELECT ${COLUMNS} FROM session WHERE member_id = $1 AND expires_at > now() ORDER BY last_used_at DESC, id DESC`,
    values: [caller.person?.id ?? null],
  });
  return rows.map((row) => ({ ...toView(row), current: row.id === caller.session }));
}

/** Who calls, with the session that they call by; a key has none. */
export async function readSession(deps: Deps, caller: Caller): Promise<SessionView> {
  const [me, [person], [session]] = await Promise.all([
    whoAmI(deps, caller),
    deps.db.query<{ timezone: string | null }>({
      name: 'read-own-timezone',
      text: 'SELECT timezone FROM member WHERE id = $1',
      values: [caller.signedIn ? (caller.person?.id ?? null) : null],
    }),
    deps.db.query<Row>({
      name: 'read-session',
      text: `SELECT ${COLUMNS} FROM session WHERE id = $1`,
      values: [caller.session ?? null],
    }),
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
