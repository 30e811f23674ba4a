import type { Deps } from '../deps.js';
import { withoutAccess } from '../people/index.js';
import type { TableRow } from '../platform/db/contract.js';
import { approveLinks, type LinkOf, opensGate, WEBHOOK } from '../runs/index.js';
import { backoffMs } from '../shared/backoff.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import type { Json } from '../shared/json.js';
import { errorMessage } from '../shared/refusal.js';
import { type NotificationContent, readContent } from './content.js';
import { EVENTS } from './events.js';
import { escapeHtml, sendMail } from './mail.js';
import { signedHeaders } from './sign.js';

const TIMEOUT_MS = 15_000;

const ANSWER_BYTES = 64 * 1024;

/** The id is the same for each try, so that receivers can drop repeated deliveries. `tries` includes this one. */
export interface ClaimedNotification
  extends Pick<TableRow<'Notification'>, 'id' | 'tenantId' | 'runId' | 'park' | 'target' | 'content' | 'tries'> {
  readonly channel: 'mail' | 'post';
}

/** Why a mail to a member who was removed or restricted is not sent. */
export const LOST_ACCESS = 'the recipient has lost access to the workspace';

/** How long a try may take before another worker may retry; longer than both channels' timeouts. */
const LEASE_MS = 120_000;

/** The accounts and targets that have reached their limit of concurrent deliveries. */
interface Full {
  readonly tenants: readonly string[];
  readonly targets: readonly string[];
}

/** Claims the oldest due notification under a lease; null when there is none outside the full accounts and targets. */
export async function claimNotification(
  { db }: Pick<Deps, 'db'>,
  { tenants, targets }: Full,
): Promise<ClaimedNotification | null> {
  const [row] = await db.query<ClaimedNotification>({
    name: 'claim-notification',
    text: `UPDATE notification SET tries = tries + 1, due_at = now() + $1 * interval '1 ms' WHERE id = (
        SELECT id FROM notification WHERE state = 'pending' AND due_at <= now() AND tenant_id <> ALL ($2) AND target <> ALL ($3)
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id, tenant_id AS "tenantId", run_id AS "runId", park, channel, target, content, tries`,
    values: [LEASE_MS, tenants, targets],
  });
  if (row) failpoint('notification-claimed');
  return row ?? null;
}

/** Makes one delivery attempt and records its outcome. */
export async function deliver(deps: Deps, row: ClaimedNotification): Promise<void> {
  if (row.park !== null && !(await isOpen(deps, row.park)))
    return recordOutcome(deps, row, 'dropped', 'it was decided before');
  if (row.channel === 'mail' && (await hasLostAccess(deps, row)))
    return recordOutcome(deps, row, 'dropped', LOST_ACCESS);
  const outcome = await send(deps, row).catch(
    (error: unknown): Sent => ({ sent: false, reason: errorMessage(error), final: false }),
  );
  if (outcome.sent) {
    failpoint('notification-sent');
    return recordOutcome(deps, row, 'sent', null);
  }
  const pauseMs = outcome.final ? null : backoffMs('notification', row.tries);
  if (pauseMs === null) {
    deps.log.warn(
      { notification: row.id, tenant: row.tenantId, reason: outcome.reason },
      'notification failed permanently',
    );
    return recordOutcome(deps, row, 'failed', outcome.reason);
  }
  await deps.db.query({
    name: 'put-off-notification',
    text: `UPDATE notification SET due_at = now() + $3 * interval '1 ms', last_error = $4 WHERE id = $1 AND tries = $2 AND state = 'pending'`,
    values: [row.id, row.tries, pauseMs, outcome.reason],
  });
}

async function isOpen({ db }: Pick<Deps, 'db'>, park: string): Promise<boolean> {
  const open = await db.query({
    name: 'notified-gate',
    text: 'SELECT 1 FROM park WHERE id = $1 AND decided_at IS NULL',
    values: [park],
  });
  return open.length > 0;
}

/** A member may be removed or restricted between the notice and its mail, which is retried for a day. */
async function hasLostAccess({ db }: Pick<Deps, 'db'>, row: ClaimedNotification): Promise<boolean> {
  const { workspace } = readContent(row.content);
  const [found] = await db.query<{ id: string }>({
    name: 'notified-workspace',
    text: `SELECT w.id FROM workspace w LEFT JOIN run r ON r.id = $2
      WHERE w.tenant_id = $1 AND (w.id = r.workspace_id OR r.id IS NULL AND w.name = $3)`,
    values: [row.tenantId, row.runId, workspace],
  });
  const asked = { tenant: row.tenantId, workspaceId: found?.id ?? null, emails: [row.target] };
  return (await withoutAccess(db, asked)).size > 0;
}

/** The condition on `tries` drops the outcome of a try whose lease another try took over. */
async function recordOutcome(
  { db }: Pick<Deps, 'db'>,
  row: ClaimedNotification,
  state: string,
  why: string | null,
): Promise<void> {
  await db.query({
    name: 'end-notification',
    text: `UPDATE notification SET state = $3, ended_at = now(), last_error = $4 WHERE id = $1 AND tries = $2 AND state = 'pending'`,
    values: [row.id, row.tries, state, why],
  });
}

/** Sends a notification once over its channel. */
export async function send(deps: Deps, row: Omit<ClaimedNotification, 'tries'>): Promise<Sent> {
  const content = readContent(row.content);
  return CHANNELS[row.channel](deps, row, content);
}

type Send = (deps: Deps, row: Omit<ClaimedNotification, 'tries'>, content: NotificationContent) => Promise<Sent>;

const CHANNELS = {
  mail: async (deps, row, content) => {
    const { subject, text, html } = mailText(content, await linksOf(deps, row, content, row.target));
    return sendMail(deps, row.tenantId, { id: row.id, to: row.target, subject, text, html });
  },
  post: async (deps, row, content) => {
    const links = await linksOf(deps, row, content, WEBHOOK);
    const { at, ...fields } = content;
    const body = { ...fields, runUrl: runUrlOf(deps, content), ...links, at };
    return sendPost(deps, { id: row.id, tenant: row.tenantId, url: row.target, body: body as Json });
  },
} as const satisfies Record<ClaimedNotification['channel'], Send>;

/** The address of the run, for readers who may see it. */
function runUrlOf({ config: { publicUrl } }: Pick<Deps, 'config'>, content: NotificationContent): string | null {
  const { workspace, run, eval: name, evalRun } = content;
  if (publicUrl === null || workspace === null) return null;
  const place = `${publicUrl}/api/workspaces/${workspace}`;
  if (run !== null) return `${place}/runs/${run}`;
  return name && evalRun ? `${place}/evals/${name}/runs/${evalRun}` : null;
}

/**
 * Creates the links at delivery, since stored ones would outlive a change of the install key. Null for a recipient who
 * could not open them.
 */
async function linksOf(
  deps: Deps,
  { tenantId, runId, park }: Omit<ClaimedNotification, 'tries'>,
  { workspace }: NotificationContent,
  to: string,
): Promise<ReturnType<typeof approveLinks>> {
  if (park === null || runId === null || workspace === null) return null;
  const link: LinkOf = { tenant: tenantId, workspace, runId, park, to };
  const links = approveLinks(deps, link);
  if (links === null) warnAboutLinks(deps);
  return links !== null && (await opensGate(deps.db, link)) ? links : null;
}

const warned = new WeakSet<object>();

/** Logs once per worker. */
function warnAboutLinks({ log, config }: Deps): void {
  if (warned.has(config)) return;
  warned.add(config);
  log.warn(
    {},
    'notifications carry no approve links: set SERVICE_PUBLIC_URL to the address that people reach this service at',
  );
}

type Sent =
  | { readonly sent: true }
  /** `final`: a retry cannot succeed. */
  | { readonly sent: false; readonly reason: string; readonly final: boolean };

/** Posts one notification to the account's URL, signed with the account's secret. */
async function sendPost(
  deps: Deps,
  {
    id,
    tenant,
    url,
    body,
  }: { readonly id: string; readonly tenant: string; readonly url: string; readonly body: Json },
): Promise<Sent> {
  const [signer] = await deps.db.query<{ version: number; since: Date | null }>({
    name: 'notify-signer',
    text: 'SELECT notify_key AS version, notify_key_at AS since FROM tenant WHERE id = $1',
    values: [tenant],
  });
  if (!signer) return { sent: false, reason: 'the account is gone', final: true };
  const text = toJson(body);
  const signed = signedHeaders(deps, { tenant, ...signer }, { id, nowMs: deps.clock.now(), body: text });
  const answer = await deps.net.request({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': `Signalbox/${deps.config.version}`, ...signed },
    body: text,
    redirects: 0,
    timeoutMs: TIMEOUT_MS,
    maxBytes: ANSWER_BYTES,
  });
  if (answer.kind === 'fault') return { sent: false, reason: answer.message, final: false };
  if (answer.status >= 200 && answer.status < 300) return { sent: true };
  // 410 Gone means that the receiver wants no more requests; other errors may be temporary.
  return { sent: false, reason: `${new URL(url).host} answered ${answer.status}`, final: answer.status === 410 };
}

interface Links {
  readonly approveUrl: string;
  readonly rejectUrl: string;
}

interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** One mail, with the same content as text and HTML. Its links open a page and decide nothing by themselves. */
function mailText(content: NotificationContent, links: Links | null): MailText {
  const { flow, workspace, account, run, evalRun, due, text, summary, subject, event } = content;
  const facts = [
    flow !== null && workspace !== null
      ? `Flow: ${flow} in ${workspace}`
      : workspace === null
        ? `Account: ${account}`
        : `Workspace: ${workspace}`,
    ...(due === null ? [] : [`Decide before: ${due.slice(0, 16).replace('T', ' ')} UTC`]),
    ...(run === null ? [] : [`Run: ${run}`]),
    ...(evalRun ? [`Eval run: ${evalRun} of ${content.eval}`] : []),
  ];
  const choices = links === null ? [] : [['Approve', links.approveUrl] as const, ['Reject', links.rejectUrl] as const];
  const hint =
    'Each link opens a page that shows what is decided; nothing is decided before you press a button there. The link is yours: a person who has it decides in your name.';
  const plain = [
    summary,
    ...(text === null ? [] : [text]),
    ...choices.map(([word, url]) => `${word}:\n${url}`),
    ...(choices.length === 0 ? [] : [hint]),
    facts.join('\n'),
  ];
  const html = [
    `<p>${escapeHtml(summary)}</p>`,
    ...(text === null ? [] : [`<pre style="white-space:pre-wrap">${escapeHtml(text)}</pre>`]),
    ...(choices.length === 0
      ? []
      : [`<p>${choices.map(([word, url]) => `<a href="${escapeHtml(url)}">${word}</a>`).join(' &middot; ')}</p>`]),
    ...(choices.length === 0 ? [] : [`<p>${escapeHtml(hint)}</p>`]),
    `<p>${facts.map(escapeHtml).join('<br>')}</p>`,
  ];
  return {
    subject: EVENTS[event].byDefault || run !== null ? subject : summary,
    text: `${plain.join('\n\n')}\n`,
    html: html.join('\n'),
  };
}
