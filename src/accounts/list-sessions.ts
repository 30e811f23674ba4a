import type { SessionEntry, SessionView } from '../contract/auth.js';
import type { Deps } from '../deps.js';
import { type PageInput, timeCursors } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import { whoAmI } from './who-am-i.js';

const cursors = timeCursors('sessions');

interface Row {
  readonly id: string;
  readonly device: string | null;
  readonly address: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
}

const COLUMNS = `id, device, address, created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt"`;

/** The open sessions of the caller, last used first. */
export async function listSessions(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  { limit, cursor }: PageInput,
): Promise<{ readonly sessions: readonly SessionEntry[]; readonly next: string | null }> {
  const after = cursors.read(cursor);
  const rows = await deps.db.query<Row>({
    name: 'list-sessions',
    text: `SELECT ${COLUMNS} FROM session WHERE member_id = $1 AND expires_at > now()
        AND ($2::timestamptz IS NULL OR (last_used_at, id) < ($2, $3)) ORDER BY last_used_at DESC, id DESC LIMIT $4`,
    values: [caller.person?.id ?? null, after?.at ?? null, after?.id ?? null, limit + 1],
  });
  const { page, next } = cursors.page(rows, limit, ({ lastUsedAt: at, id }) => ({ at, id }));
  return { sessions: page.map((row) => ({ ...toView(row), current: row.id === caller.session })), next };
}

/** The caller, with their session; null for a key. */
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
