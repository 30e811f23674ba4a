import { isRecord, type Json } from '../shared/json.js';
import type { TriggerSettings } from './settings.js';

/** Where senders say which delivery it is; a body itself is never compared: two alike may both be meant. */
const ID_HEADERS = ['webhook-id', 'svix-id', 'x-github-delivery', 'x-gitlab-event-uuid', 'idempotency-key'];

export interface Identified {
  readonly header: (name: string) => string | undefined;
  /** What ids are taken from: numbers that no double holds are texts in it. */
  readonly body: () => Json;
}

/** The one id that makes two deliveries the same: what `dedupe:` points at, else the sender's own. Null has none. */
export function deliveryId(
  { dedupe, signature }: Pick<TriggerSettings, 'dedupe' | 'signature'>,
  at: Identified,
): string | null {
  if (dedupe !== undefined) return dedupeKey(dedupe, at);
  const own = signature === null ? null : (OWN_IDS[signature]?.(at.body()) ?? null);
  return own ?? ID_HEADERS.map((name) => at.header(name)).find((value) => value !== undefined && value !== '') ?? null;
}

/** Payment and chat providers have the event's id in the body. */
const OWN_IDS: Readonly<Record<string, (body: Json) => string | null>> = {
  payment: (body) => textAt(body, ['id']),
  chat: (body) => textAt(body, ['event_id']),
};

/** What `header <name>` or `body.<path>` gives; null when it is not there. */
export function dedupeKey(dedupe: string, { header, body }: Identified): string | null {
  if (dedupe.startsWith('header ')) return header(dedupe.slice('header '.length).toLowerCase()) || null;
  return textAt(body(), dedupe.split('.').slice(1));
}

function textAt(body: Json, path: readonly string[]): string | null {
  const value = path.reduce<unknown>(
    (at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : Array.isArray(at) ? at[Number(key)] : undefined),
    body,
  );
  if (typeof value === 'string') return value || null;
  return ['number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : null;
}
