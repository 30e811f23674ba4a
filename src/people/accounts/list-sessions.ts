import type { SessionEntry, SessionView } from '../../contract/auth.js';
import type { Deps } from '../../deps.js';
import type { Session } from '../../platform/db/contract.js';
import { type PageInput, timeCursors } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { whoAmI } from './who-am-i.js';

const cursors = timeCursors('sessions');

const SHOWN = { id: true, device: true, address: true, createdAt: true, lastUsedAt: true, expiresAt: true } as const;
type Row = Pick<Session, keyof typeof SHOWN>;

/** The open sessions of the caller, last used first. */
export async function listSessions(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  { limit, cursor }: PageInput,
): Promise<{ readonly sessions: readonly SessionEntry[]; readonly next: string | null }> {
  const after = cursors.read(cursor);
  const rows: Row[] =
    caller.person === null
      ? []
      : await deps.db.prisma.session.findMany({
          select: SHOWN,
          where: {
            memberId: caller.person.id,
            expiresAt: { gt: new Date(deps.clock.now()) },
            ...(after && { OR: [{ lastUsedAt: { lt: after.at } }, { lastUsedAt: after.at, id: { lt: after.id } }] }),
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
    own === undefined ? null : deps.db.prisma.member.findUnique({ select: { timezone: true }, where: { id: own } }),
    id === undefined ? null : deps.db.prisma.session.findUnique({ select: SHOWN, where: { id } }),
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
