import type { MailStarted } from '../../contract/triggers.js';
import type { Deps } from '../../deps.js';
import { parseJson } from '../../shared/exact-json.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import { storableJson } from '../../shared/storable-json.js';
import { type Arrival, type Delivered, deliver } from '../deliver.js';
import { dedupeKey, deliveryId, noteDelivery } from '../deliveries.js';
import { type FoundHook, findHook } from '../find-hook.js';
import { noteRefusal } from '../note-refusal.js';
import { decodedBody, type HookDelivery } from '../receive-hook.js';
import { settingsOf } from '../settings.js';
import { requireTrigger } from '../start-delivered.js';
import { triggerData } from '../trigger-data.js';
import { attachmentsOf } from './keep-attachments.js';
import { addressOf, type InboundMail, isAllowedSender } from './mail.js';
import { openMails, type ReadMail } from './read-mail.js';

const BULK = /^(bulk|junk|list|auto_reply)$/i;

const BOUNCE_SENDER = /^(mailer-daemon|postmaster)@/;

/**
 * Receives a mail that a provider posts, or several in one request. The From address is not verified: it selects
 * whether the flow starts, and gives no rights. Automatic mail and mail from other senders is accepted and starts
 * nothing, since a provider sends a refused mail again.
 */
export async function receiveMail(deps: Deps, sent: HookDelivery): Promise<MailStarted | Delivered> {
  const hook = await findHook(deps, sent.path);
  const place = { ...hook, kind: 'email', address: sent.address } as const;
  const reads = await noteRefusal(deps, place, async () => {
    requireTrigger(hook.live.plan, 'email');
    return openMails({ type: sent.headers['content-type'] ?? '', body: await decodedBody(sent) });
  });
  if (reads.length === 0) return { ok: true, filtered: true };
  const [only] = reads;
  if (only && reads.length === 1) return receiveOne(deps, hook, { read: only, sent });
  return receiveBatch(deps, hook, { reads, sent });
}

/**
 * An unreadable mail does not stop the others of its request. After a transient failure the provider sends all again.
 */
async function receiveBatch(
  deps: Deps,
  hook: FoundHook,
  { reads, sent }: { readonly reads: readonly ReadMail[]; readonly sent: HookDelivery },
): Promise<MailStarted | Delivered> {
  const mails: Delivered[] = [];
  let refused: unknown;
  for (const read of reads) {
    try {
      mails.push(await receiveOne(deps, hook, { read, sent }));
    } catch (error) {
      if (!(error instanceof Refusal) || !['refused', 'malformed', 'too_large'].includes(error.kind)) throw error;
      refused ??= error;
    }
  }
  if (mails.length === 0) throw refused;
  return mails.some((one) => 'runId' in one || 'debounced' in one) ? { ok: true, mails } : { ok: true, filtered: true };
}

async function receiveOne(
  deps: Deps,
  hook: FoundHook,
  { read, sent }: { readonly read: ReadMail; readonly sent: HookDelivery },
): Promise<Delivered> {
  const place = { ...hook, kind: 'email', address: sent.address } as const;
  const mail = await noteRefusal(deps, place, read);
  const from = addressOf(mail.from);
  const loop = loopOf(mail, deps.config.email.from);
  if (loop !== null) return recordUnstarted(deps, hook, { outcome: 'loop', detail: loop, sent, mail });
  if (!isAllowedSender(from, settingsOf(hook.live.plan).from)) {
    const detail = `it is from ${from ?? 'an unreadable address'}, which the flow’s from: does not name`;
    return recordUnstarted(deps, hook, { outcome: 'filtered', detail, sent, mail });
  }
  await noteRefusal(deps, place, () => requireReadable(mail));
  return deliverMail(deps, hook, { mail, from, sent });
}

/** How many fields of an unreadable mail the refusal names. */
const NAMED = 40;

/** Refuses a mail with unknown field names, so that no run starts with an empty text. */
function requireReadable({ unread }: InboundMail): void {
  if (unread === null) return;
  const names = unread.slice(0, NAMED).map((name) => name.slice(0, 60));
  throw new Refusal(
    'refused',
    `the mail has no part that can be read, neither text nor html nor a file; its fields are ${names.join(', ')}: send text or html, or the mail itself as message/rfc822`,
    { code: 'mail/unreadable' },
  );
}

interface Received {
  readonly mail: InboundMail;
  readonly from: string | null;
  readonly sent: HookDelivery;
}

async function deliverMail(deps: Deps, hook: FoundHook, { mail, from, sent }: Received): Promise<Delivered> {
  const { workspace, flow, live } = hook;
  const attachments = attachmentsOf(deps, mail.attachments);
  const { from: fromLine, to, subject, text, html, leftOut } = mail;
  const input = storable({ from: fromLine, to, subject, text, html, attachments: attachments.list });
  const { debounceMs, dedupe } = settingsOf(live.plan);
  const at = { header: (name: string) => mail.headers[name], body: () => input };
  const own =
    debounceMs === undefined && dedupe !== undefined ? deliveryId({ dedupe, signature: null }, at) : idOf(mail);
  const data = triggerData('email', { headers: mail.headers, query: sent.query }, deps.clock.now());
  const arrival: Arrival = {
    kind: 'email',
    workspace,
    flow,
    input,
    trigger: storable({ ...data, from: from ?? '', ...(leftOut.length > 0 && { leftOut }) }) as JsonObject,
    ...(leftOut.length > 0 && { detail: storable(leftOut.join('; ')) }),
    deliveryId: own,
    burstKey: dedupe === undefined ? null : dedupeKey(dedupe, at),
    address: sent.address,
    fill: (sql) => attachments.keep(sql, workspace.id),
  };
  try {
    await attachments.store();
    return await deliver(deps, arrival);
  } finally {
    await attachments.release();
  }
}

/** The Message-ID is the same each time the mail is posted. */
function idOf({ headers, providerId }: InboundMail): string | null {
  return headers['message-id']?.trim() || providerId;
}

interface Unstarted {
  readonly outcome: 'loop' | 'filtered';
  readonly detail: string;
  readonly sent: HookDelivery;
  readonly mail: InboundMail;
}

async function recordUnstarted(deps: Deps, { workspace, flow }: FoundHook, mailLeft: Unstarted): Promise<Delivered> {
  const { outcome, detail, sent, mail } = mailLeft;
  const place = { workspaceId: workspace.id, flow, kind: 'email', address: sent.address } as const;
  await noteDelivery(deps.db, { ...place, outcome, detail: storable(detail), deliveryId: storable(idOf(mail)) });
  return { ok: true, filtered: true };
}

/** Removes what Postgres cannot store, since the sender cannot correct it. */
function storable<T extends Json>(value: T): T {
  return parseJson(storableJson(value)) as T;
}

/**
 * Why a mail must start no run: a program sent it as an answer to another mail (RFC 3834), and the flow's answer would
 * start an endless loop. Null for a person's mail. `own` is the sender address of this service.
 */
export function loopOf(mail: InboundMail, own: string | null): string | null {
  const header = (name: string) => (mail.headers[name] ?? '').trim();
  const submitted = header('auto-submitted').split(';')[0]?.trim().toLowerCase() ?? '';
  if (submitted !== '' && submitted !== 'no') return `a program sent it (Auto-Submitted: ${submitted})`;
  const precedence = header('precedence');
  if (BULK.test(precedence)) return `it was not sent by a person (Precedence: ${precedence})`;
  if (header('x-autoreply') !== '' || header('x-autorespond') !== '') return 'it is an automatic reply';
  if (mail.envelopeFrom === '' || header('return-path') === '<>') return 'it is a bounce (it has no return path)';
  if (/^multipart\/report\b/i.test(header('content-type'))) return 'it is a report of delivery';
  const from = addressOf(mail.from);
  if (from !== null && BOUNCE_SENDER.test(from)) return `it is a bounce (${from})`;
  if (from !== null && own !== null && from === addressOf(own)) return 'this service sent it';
  return null;
}
