import type { Deps } from '../deps.js';
import { decodeContent } from '../shared/content-coding.js';
import { isRecord, type Json } from '../shared/json.js';
import { checkSignature } from './check-signature.js';
import { type Challenge, type Delivered, deliver } from './deliver.js';
import { dedupeKey, deliveryId } from './deliveries.js';
import { findHook, type HookPath } from './find-hook.js';
import { noteRefusal } from './note-refusal.js';
import { readDelivered } from './read-body.js';
import { settingsOf } from './settings.js';
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
