import type { Deps } from '../deps.js';
import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { requireWhole } from './require-whole.js';

export interface NotificationView {
  readonly id: string;
  readonly event: string;
  readonly channel: string;
  readonly target: string;
  readonly subject: string;
  readonly workspace: string | null;
  readonly run: string | null;
  readonly state: string;
  readonly tries: number;
  readonly createdAt: string;
  /** When it is next tried; null once it has ended. */
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  readonly lastError: string | null;
}

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

/** What was sent to whom, and what became of it, the newest first. */
export async function listNotifications(
  { db }: Pick<Deps, 'db'>,
  caller: Caller,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ readonly notifications: readonly NotificationView[]; readonly next: string | null }> {
  requireWhole(caller);
  if (cursor !== undefined && !/^[0-9a-z]{26}$/.test(cursor))
    throw new Refusal('refused', 'cursor: take it as `next` gave it');
  const rows = await db.query<Row>({
    name: 'list-notifications',
    text: `SELECT id, run_id AS "runId", event, channel, target, content, state, tries, due_at AS "dueAt", created_at AS "createdAt",
        ended_at AS "endedAt", last_error AS "lastError" FROM notification n WHERE tenant_id = $1 AND ($2::text IS NULL
        OR (created_at, id) < ((SELECT created_at FROM notification WHERE id = $2 AND tenant_id = $1), $2))
      ORDER BY created_at DESC, id DESC LIMIT $3`,
    values: [caller.tenant, cursor ?? null, limit + 1],
  });
  const page = rows.slice(0, limit);
  return { notifications: page.map(viewOf), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
}

function viewOf({ content, dueAt, createdAt, endedAt, runId: run, ...row }: Row): NotificationView {
  const said = isRecord(content) ? content : {};
  return {
    ...row,
    run,
    subject: String(said.subject ?? ''),
    workspace: typeof said.workspace === 'string' ? said.workspace : null,
    createdAt: createdAt.toISOString(),
    nextAt: row.state === 'pending' ? dueAt.toISOString() : null,
    endedAt: endedAt?.toISOString() ?? null,
  };
}
