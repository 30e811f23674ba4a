import { isRecord, type Json } from '../shared/json.js';
import type { TriggerSettings } from './settings.js';

/** Where senders say which delivery it is; a body itself is never compared: two alike may both be meant. */
const ID_HEADERS = ['webhook-id', 'svix-id', 'x-github-delivery', 'x-gitlab-event-uuid', 'idempotency-key'];

export interface Identified {
  readonly header: (name: string) => string | undefined;
  readonly input: Json;
}

/** The one id that makes two deliveries the same: what `dedupe:` points at, else the sender's own. Null has none. */
export function deliveryId(
  { dedupe, signature }: Pick<TriggerSettings, 'dedupe' | 'signature'>,
  at: Identified,
): string | null {
  if (dedupe !== undefined) return dedupeKey(dedupe, at);
  const own = signature === null ? null : (OWN_IDS[signature]?.(at.input) ?? null);
  return own ?? ID_HEADERS.map((name) => at.header(name)).find((value) => value !== undefined && value !== '') ?? null;
}

/** Payment and chat providers have the event's id in the body. */
const OWN_IDS: Readonly<Record<string, (input: Json) => string | null>> = {
  payment: (input) => textAt(input, ['id']),
  chat: (input) => textAt(input, ['event_id']),
};

/** What `header <name>` or `body.<path>` gives; null when it is not there. */
export function dedupeKey(dedupe: string, { header, input }: Identified): string | null {
  if (dedupe.startsWith('header ')) return header(dedupe.slice('header '.length).toLowerCase()) || null;
  return textAt(input, dedupe.split('.').slice(1));
}

function textAt(input: Json, path: readonly string[]): string | null {
  const value = path.reduce<unknown>(
    (at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : Array.isArray(at) ? at[Number(key)] : undefined),
    input,
  );
  if (typeof value === 'string') return value || null;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
