import type { Notification, NotificationList } from '../contract/notifications.js';
import type { Deps } from '../deps.js';
import type { TableRow } from '../platform/db/contract.js';
import { type PageInput, timeCursors } from '../shared/cursor.js';
import { isRecord } from '../shared/json.js';
import type { Caller } from '../shared/roles.js';
import { requireFullAccess } from './require-full-access.js';

const cursors = timeCursors('notifications');

const SHOWN = {
  id: true,
  runId: true,
  event: true,
  channel: true,
  target: true,
  content: true,
  state: true,
  tries: true,
  dueAt: true,
  createdAt: true,
  endedAt: true,
  lastError: true,
} as const;

interface Row extends Pick<TableRow<'Notification'>, Exclude<keyof typeof SHOWN, 'content'>> {
  readonly content: unknown;
}

/** The notifications with their recipients and outcomes, newest first. */
export async function listNotifications(
  { db }: Pick<Deps, 'db'>,
  caller: Caller,
  { limit, cursor }: PageInput,
): Promise<NotificationList> {
  requireFullAccess(caller);
  const after = cursors.read(cursor);
  const rows = await db.prisma.notification.findMany({
    select: SHOWN,
    where: {
      tenantId: caller.tenant,
      ...(after && { createdAt: { lte: after.at }, OR: [{ createdAt: { lt: after.at } }, { id: { lt: after.id } }] }),
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  const { page, next } = cursors.page(rows, limit, ({ createdAt: at, id }) => ({ at, id }));
  return { notifications: page.map(viewOf), next };
}

function viewOf({ content, dueAt, createdAt, endedAt, runId: run, ...row }: Row): Notification {
  const fields = isRecord(content) ? content : {};
  return {
    ...row,
    run,
    subject: String(fields.subject ?? ''),
    workspace: typeof fields.workspace === 'string' ? fields.workspace : null,
    createdAt: createdAt.toISOString(),
    nextAt: row.state === 'pending' ? dueAt.toISOString() : null,
    endedAt: endedAt?.toISOString() ?? null,
  };
}
