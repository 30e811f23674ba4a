import type { TeamBody } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import { cursorsOf, type PageInput } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { MEMBER_COLUMNS, type MemberRow } from './find-member.js';
import { type InviteRow, inviteView, memberView } from './views.js';

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
      ...(after && { OR: [{ createdAt: { gt: after.at } }, { createdAt: after.at, id: { gt: after.id } }] }),
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: most,
  });
  return rows.map((row): Entry => ({ kind: 'invite', row: { ...row, role: row.role as InviteRow['role'] } }));
}
