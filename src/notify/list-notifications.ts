import type { Notification, NotificationList } from '../contract/notifications.js';
import type { Deps } from '../deps.js';
import { type PageInput, timeCursors } from '../shared/cursor.js';
import { isRecord, type Json } from '../shared/json.js';
import type { Caller } from '../shared/roles.js';
import { requireFullAccess } from './require-full-access.js';

const cursors = timeCursors('notifications');

interface Row {
  readonly id: string;
  readonly runId: string | null;
  readonly event: string;
  readonly channel: string;
  readonly target: string;
  readonly content: Json;
  readonly state: string;
  readonly tries: number;
  readonly dueAt: Date;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly lastError: string | null;
}

/** The notifications with their recipients and outcomes, newest first. */
export async function listNotifications(
  { db }: Pick<Deps, 'db'>,
  caller: Caller,
  { limit, cursor }: PageInput,
): Promise<NotificationList> {
  requireFullAccess(caller);
  const after = cursors.read(cursor);
  const rows = await db.query<Row>({
    name: 'list-notifications',
    text: `SELECT id, run_id AS "runId", event, channel, target, content, state, tries, due_at AS "dueAt", created_at AS "createdAt",
        ended_at AS "endedAt", last_error AS "lastError" FROM notification WHERE tenant_id = $1
        AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
      ORDER BY created_at DESC, id DESC LIMIT $4`,
    values: [caller.tenant, after?.at ?? null, after?.id ?? null, limit + 1],
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
