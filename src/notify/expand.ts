import type { Deps } from '../deps.js';
import type { GateSpec } from '../engine/index.js';
import { withoutAccess } from '../people/index.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { type DueRow, forEachDue } from '../platform/db/index.js';
import { decidersAt, hideTokens, targetsIn } from '../runs/index.js';
import { newId } from '../shared/ids.js';
import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { storableJson } from '../shared/storable-json.js';
import { contentOf, type Facts } from './content.js';
import { eventOf, type NoticeData } from './events.js';
import { type MemberOf, type Recipient, recipientsOf } from './recipients.js';

/** How many notices one call expands at most. */
export const NOTICE_BATCH = 50;
/** SQL. Columns round times to whole milliseconds. */
const DUE = `due_at <= now() + interval '1 ms'`;

type ExpandDeps = Pick<Deps, 'db' | 'keys' | 'log'>;

type NoticeRow = Pick<TableRow<'Notice'>, 'id' | 'tenantId' | 'workspaceId' | 'runId' | 'event' | 'data' | 'at'>;

/**
 * Turns notices into notifications per recipient. One transaction deletes the notices and inserts the notifications, so
 * a crash loses none and repeats none. Returns how many notices it expanded.
 */
export async function expandNotices(deps: ExpandDeps, signal?: AbortSignal): Promise<number> {
  try {
    return await expandBatch(deps, null);
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'unavailable') throw error;
    // One notice cannot be expanded: expand each on its own, so that it does not block the others.
    const rows = await deps.db.query<DueRow & Pick<NoticeRow, 'id'>>(
      `SELECT id, tries FROM notice WHERE ${DUE} ORDER BY id LIMIT $1`,
      [NOTICE_BATCH],
    );
    return forEachDue(deps, 'notice', { rows, work: ({ id }) => expandBatch(deps, id), signal });
  }
}

/** Expands the oldest notices, or the one with this id. */
async function expandBatch(deps: ExpandDeps, only: bigint | null): Promise<number> {
  return deps.db.transaction(async (sql) => {
    const notices = await sql.query<NoticeRow>({
      name: 'take-notices',
      text: `DELETE FROM notice WHERE id IN (
          SELECT id FROM notice WHERE CASE WHEN $2::bigint IS NULL THEN ${DUE} ELSE id = $2 END ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
        RETURNING id, tenant_id AS "tenantId", workspace_id AS "workspaceId", run_id AS "runId", event, data, at`,
      values: [NOTICE_BATCH, only],
    });
    for (const notice of notices) await expand(deps, sql, notice);
    return notices.length;
  });
}

interface Context {
  readonly account: string;
  readonly accountNotify: Json;
  readonly workspace: string | null;
  readonly isPreview: boolean;
  readonly workspaceNotify: Json;
  readonly flow: string | null;
  readonly flowNotify: Json;
  readonly summary: string | null;
  readonly error: string | null;
  readonly step: string | null;
  readonly gate: Json;
  readonly isDecided: boolean;
  readonly openedAt: Date | null;
  readonly due: Date | null;
  readonly parentId: string | null;
  readonly rootId: string | null;
}

async function expand(deps: ExpandDeps, sql: Sql, notice: NoticeRow): Promise<void> {
  const event = eventOf(notice.event);
  const data = (isRecord(notice.data) ? notice.data : {}) as NoticeData;
  const context = await readContext(sql, notice, typeof data.park === 'string' ? data.park : null);
  if (event === null || !context) return;
  const gate = isRecord(context.gate) ? (context.gate as unknown as GateSpec) : null;
  const asks = gate !== null && (event === 'approval.waiting' || event === 'approval.reminder');
  if (asks && context.isDecided) return;
  // `notify` settings apply to the live workspace only; a preview notifies just the deciders that its gates name.
  const levels = context.isPreview ? [] : [context.flowNotify, context.workspaceNotify, context.accountNotify];
  const targets = targetsIn(levels);
  const onlyDeciders = notice.event === 'approval.escalated';
  const deciders = onlyDeciders ? [String(data.to)] : namedBy(gate, context.openedAt, notice.at);
  const members = gate === null ? [] : await readMembers(sql, notice.tenantId, context.workspace);
  const extraEmails = typeof data.pusher === 'string' ? await readPusher(sql, notice, data.pusher) : [];
  const named = recipientsOf({ event, targets, deciders, members, extraEmails, onlyDeciders });
  const recipients = await withAccess(sql, notice, named);
  if (recipients.length === 0) return;
  // Mails get forwarded, so notifications hide the run's release address.
  const show = hideTokens(deps, { role: 'viewer' }, [notice.runId, context.parentId, context.rootId]);
  const facts = {
    ...context,
    event,
    data,
    run: notice.runId,
    title: gate?.title ?? null,
    ask: asks ? (gate?.ask ?? null) : null,
    due: context.due?.toISOString() ?? null,
    error: event === 'run.failed' ? context.error : null,
    at: notice.at.toISOString(),
  };
  const content = contentOf({ ...facts, ...show(pick(facts)) });
  for (const { channel, target } of recipients) {
    await sql.query({
      name: 'write-notification',
      text: `INSERT INTO notification (id, tenant_id, run_id, park, event, channel, target, content)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      values: [
        newId(),
        notice.tenantId,
        notice.runId,
        asks ? String(data.park) : null,
        event,
        channel,
        target,
        storableJson(content),
      ],
    });
  }
}

/** Removes mail recipients who were removed as members or cannot access the workspace. */
async function withAccess(
  sql: Sql,
  { tenantId: tenant, workspaceId }: NoticeRow,
  recipients: readonly Recipient[],
): Promise<readonly Recipient[]> {
  const emails = recipients.flatMap(({ channel, target }) => (channel === 'mail' ? [target] : []));
  const lost = await withoutAccess(sql, { tenant, workspaceId, emails });
  return recipients.filter(({ channel, target }) => channel !== 'mail' || !lost.has(target.toLowerCase()));
}

/** The texts that come from the run itself. */
function pick({
  title,
  ask,
  error,
  summary,
  data,
}: Facts): Pick<Facts, 'title' | 'ask' | 'error' | 'summary' | 'data'> {
  return { title, ask, error, summary, data };
}

function namedBy(gate: GateSpec | null, openedAt: Date | null, at: Date): readonly string[] {
  if (gate === null || openedAt === null) return [];
  return decidersAt({ gate, openedAtMs: openedAt.getTime(), nowMs: at.getTime() });
}

async function readContext(sql: Sql, notice: NoticeRow, park: string | null): Promise<Context | undefined> {
  const [row] = await sql.query<Context>({
    name: 'notice-context',
    text: `SELECT t.name AS account, t.notify AS "accountNotify", w.name AS workspace, w.preview_of IS NOT NULL AS "isPreview", v.index->'notify' AS "workspaceNotify",
        r.flow, p.body->'notify' AS "flowNotify", r.error, coalesce(r.summary, (SELECT left(split_part(ltrim(s.result, E' \\t\\r\\n'), E'\\n', 1), 1000)
          FROM step s WHERE s.run_id = r.id AND s.result ~ '\\S' ORDER BY s.finished_at DESC NULLS FIRST, s.started_at DESC LIMIT 1)) AS summary,
        g.step, g.spec AS gate, g.decided_at IS NOT NULL AS "isDecided", g.opened_at AS "openedAt", g.due_at AS due,
        r.parent_id AS "parentId", r.root_id AS "rootId"
      FROM tenant t LEFT JOIN workspace w ON w.id = $2 AND w.tenant_id = t.id
        LEFT JOIN revision v ON v.workspace_id = w.id AND v.seq = w.live_seq
        LEFT JOIN run r ON r.id = $3 AND r.workspace_id = w.id
        LEFT JOIN plan p ON p.workspace_id = r.workspace_id AND p.id = r.plan_id
        LEFT JOIN park g ON g.id = $4 AND g.run_id = r.id AND g.kind = 'approval'
      WHERE t.id = $1`,
    values: [notice.tenantId, notice.workspaceId, notice.runId, park],
  });
  // The run was deleted in the meantime.
  return row && (notice.runId === null || row.flow !== null) ? row : undefined;
}

async function readMembers(sql: Sql, tenant: string, workspace: string | null): Promise<readonly MemberOf[]> {
  return sql.query<MemberOf>({
    name: 'notice-members',
    text: `SELECT m.email, CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role FROM member m
      JOIN tenant t ON t.id = m.tenant_id WHERE t.id = $1 AND (t.owner_id = m.id OR m.all_workspaces OR $2 = ANY(with_previews(m.tenant_id, m.workspaces))) ORDER BY m.id`,
    values: [tenant, workspace],
  });
}

/** The address of the member behind a push, if they can still access the workspace. */
async function readPusher(sql: Sql, { tenantId, workspaceId }: NoticeRow, member: string): Promise<readonly string[]> {
  const rows = await sql.query<{ email: string }>({
    name: 'notice-pusher',
    text: `SELECT m.email FROM member m JOIN workspace w ON w.id = $3 AND w.tenant_id = m.tenant_id
      JOIN tenant t ON t.id = m.tenant_id
      WHERE m.id = $1 AND m.tenant_id = $2 AND (t.owner_id = m.id OR m.all_workspaces OR w.name = ANY(with_previews(m.tenant_id, m.workspaces)))`,
    values: [member, tenantId, workspaceId],
  });
  return rows.map(({ email }) => email);
}
