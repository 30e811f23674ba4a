import type { Deps } from '../../deps.js';
import { parseJson } from '../../shared/exact-json.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { storableJson } from '../../shared/storable-json.js';
import { type Arrival, type Delivered, deliver } from '../deliver.js';
import { dedupeKey, deliveryId } from '../delivery-id.js';
import { noteDelivery } from '../delivery-rows.js';
import { type FoundHook, findHook } from '../find-hook.js';
import { noteRefusal } from '../note-refusal.js';
import { decodedBody, type HookDelivery } from '../receive-hook.js';
import { settingsOf } from '../settings.js';
import { requireTrigger } from '../start-delivered.js';
import { triggerData } from '../trigger-data.js';
import { addressOf, isMeant } from './address.js';
import { attachmentsOf } from './keep-attachments.js';
import { loopOf } from './loop.js';
import type { InboundMail } from './mail.js';
import { readMail } from './read-mail.js';

/**
 * A mail, as a provider posts it. Who it says it is from is what it says: it may pick whether a flow starts, and decides
 * nothing. What must not be answered, and what is from somebody else, is taken and starts nothing, since a provider
 * that is refused sends it again.
 */
export async function receiveMail(deps: Deps, sent: HookDelivery): Promise<Delivered> {
  const hook = await findHook(deps, sent.path);
  const mail = await noteRefusal(deps, { ...hook, kind: 'email', address: sent.address }, async () => {
    requireTrigger(hook.live.plan, 'email');
    return readMail({ type: sent.headers['content-type'] ?? '', body: await decodedBody(sent) });
  });
  const from = addressOf(mail.from);
  const loop = loopOf(mail, deps.config.email.from);
  if (loop !== null) return leave(deps, hook, { outcome: 'loop', detail: loop, sent, mail });
  if (!isMeant(from, settingsOf(hook.live.plan).from)) {
    const detail = `it is from ${from ?? 'nobody that can be read'}, which the flow’s from: does not name`;
    return leave(deps, hook, { outcome: 'filtered', detail, sent, mail });
  }
  return deliverMail(deps, hook, { mail, from, sent });
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
  const told = triggerData('email', { headers: mail.headers, query: sent.query }, deps.clock.now());
  const arrival: Arrival = {
    kind: 'email',
    workspace,
    flow,
    input,
    trigger: storable({ ...told, from: from ?? '', ...(leftOut.length > 0 && { leftOut }) }) as JsonObject,
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
    await attachments.settle();
  }
}

/** A mail keeps its Message-ID however often it is posted. */
function idOf({ headers, providerId }: InboundMail): string | null {
  return headers['message-id']?.trim() || providerId;
}

interface Left {
  readonly outcome: 'loop' | 'filtered';
  readonly detail: string;
  readonly sent: HookDelivery;
  readonly mail: InboundMail;
}

async function leave(deps: Deps, { workspace, flow }: FoundHook, left: Left): Promise<Delivered> {
  const { outcome, detail, sent, mail } = left;
  const place = { workspaceId: workspace.id, flow, kind: 'email', address: sent.address } as const;
  await noteDelivery(deps.db, { ...place, outcome, detail: storable(detail), deliveryId: storable(idOf(mail)) });
  return { ok: true, filtered: true };
}

/** Without what Postgres cannot hold: a sender cannot be told to leave it out. */
function storable<T extends Json>(value: T): T {
  return parseJson(storableJson(value)) as T;
}
