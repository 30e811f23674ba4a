import type { Deps } from '../deps.js';
import { readText } from '../secrets/index.js';
import { decodeContent } from '../shared/content-coding.js';
import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { type Challenge, type Delivered, deliver } from './deliver.js';
import { dedupeKey, deliveryId, noteDelivery } from './deliveries.js';
import { type FoundHook, findHook, type HookPath } from './find-hook.js';
import { noteRefusal } from './note-refusal.js';
import { readDelivered } from './read-body.js';
import { settingsOf } from './settings.js';
import { isSigned } from './signatures/index.js';
import { requireTrigger } from './start-delivered.js';
import { triggerData } from './trigger-data.js';

export interface HookDelivery {
  readonly path: HookPath;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** As received: signatures are over these bytes, whatever their Content-Encoding. */
  readonly body: Uint8Array;
  /** Of the body, as received and decoded. */
  readonly maxBytes: number;
  readonly address: string | null;
}

/** The body without its content coding. */
export function decodedBody({ headers, body, maxBytes }: HookDelivery): Promise<Uint8Array> {
  return decodeContent(body, { header: headers['content-encoding'], maxBytes });
}

/** Receives a webhook: checks the token, then the signature over the raw bytes, and parses the body only after that. */
export async function receiveHook(deps: Deps, sent: HookDelivery): Promise<Delivered | Challenge> {
  const hook = await findHook(deps, sent.path);
  const header = (name: string) => sent.headers[name];
  const place = { ...hook, kind: 'webhook', address: sent.address } as const;
  await noteRefusal(deps, place, () => requireTrigger(hook.live.plan, 'webhook'));
  await checkSignature(deps, hook, { header, body: sent.body, address: sent.address });
  const { value: input, exact } = await noteRefusal(deps, place, async () =>
    readDelivered({ type: header('content-type') ?? '', body: await decodedBody(sent) }),
  );
  const challenge = challengeOf(input);
  if (challenge) return challenge;
  const settings = settingsOf(hook.live.plan);
  const { debounceMs, dedupe } = settings;
  const at = { header, body: exact };
  // Under `debounce` the dedupe key groups a burst, so only the sender's own id identifies duplicates.
  const own = debounceMs === undefined ? settings : { ...settings, dedupe: undefined };
  return deliver(deps, {
    kind: 'webhook',
    ...hook,
    input,
    trigger: triggerData('webhook', sent, deps.clock.now()),
    deliveryId: deliveryId(own, at),
    burstKey: dedupe === undefined ? null : dedupeKey(dedupe, at),
    address: sent.address,
  });
}

function challengeOf(input: Json): Challenge | null {
  if (!isRecord(input) || input.type !== 'url_verification') return null;
  const { challenge } = input;
  return typeof challenge === 'string' ? { challenge } : null;
}

interface Unproven {
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  readonly address: string | null;
}

/**
 * Refuses a delivery whose signature does not match the flow's secret, and records it as `invalid-signature`. The
 * secret is decrypted for this check only.
 */
async function checkSignature(deps: Deps, hook: FoundHook, sent: Unproven): Promise<void> {
  const { plan } = hook.live;
  if (plan.trigger.signature === undefined) return;
  const { signature, signatureHeader } = settingsOf(plan);
  const secret = await openSigningSecret(deps, hook, sent);
  const { header, body } = sent;
  if (signature !== null && isSigned(signature, { header, body, secret, signatureHeader, nowMs: deps.clock.now() })) {
    return;
  }
  const detail = `it is not signed as ${signature ?? 'the flow asks'} with ${settingsOf(plan).signingSecret}`;
  await note(deps, hook, { outcome: 'invalid-signature', detail, address: sent.address });
  throw new Refusal('unauthenticated', 'the signature is not valid', { code: 'invalid-signature' });
}

async function openSigningSecret(deps: Deps, hook: FoundHook, { address }: Unproven): Promise<string> {
  const { workspace, live } = hook;
  const name = settingsOf(live.plan).signingSecret ?? '';
  const place = { tenant: workspace.tenantId, workspace: workspace.id, name };
  const found = await readText(deps, place);
  if (found.kind === 'text' && found.text !== '') return found.text;
  const why = found.kind === 'missing' ? 'is not in the vault' : found.kind === 'text' ? 'is not a text' : found.why;
  await note(deps, hook, { outcome: 'refused', detail: `the signing secret ${name} ${why}`, address });
  // The sender is not authenticated yet, so the answer reveals nothing but that it may try again.
  throw new Refusal('unavailable', 'signatures cannot be checked here now: try again later', { retryAfter: 60 });
}

async function note(
  deps: Deps,
  { workspace, flow }: FoundHook,
  what: { readonly outcome: 'invalid-signature' | 'refused'; readonly detail: string; readonly address: string | null },
): Promise<void> {
  deps.log.warn({ tenant: workspace.tenantId, workspace: workspace.name, flow, address: what.address }, what.outcome);
  await noteDelivery(deps.db, { workspaceId: workspace.id, flow, kind: 'webhook', ...what });
}
