import type { Deps } from '../deps.js';
import { readText } from '../secrets/index.js';
import { Refusal } from '../shared/refusal.js';
import { noteDelivery } from './deliveries.js';
import type { FoundHook } from './find-hook.js';
import { settingsOf } from './settings.js';
import { isSigned } from './signatures/index.js';

export interface Unproven {
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  readonly address: string | null;
}

/**
 * Refuses a delivery whose signature does not match the flow's secret, and records it as `invalid-signature`. The
 * secret is decrypted for this check only.
 */
export async function checkSignature(deps: Deps, hook: FoundHook, sent: Unproven): Promise<void> {
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
