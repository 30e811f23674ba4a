import { isRecord, type Json } from '../shared/json.js';
import type { TriggerSettings } from './settings.js';

/** The headers in which senders give a delivery's id. Bodies are never compared: two equal ones may both be intended. */
const ID_HEADERS = ['webhook-id', 'svix-id', 'x-github-delivery', 'x-gitlab-event-uuid', 'idempotency-key'];

export interface Identified {
  readonly header: (name: string) => string | undefined;
  /** The body that ids are read from: numbers that a double cannot hold exactly are texts in it. */
  readonly body: () => Json;
}

/** The id by which duplicates are found: the value that `dedupe:` names, else the sender's own id. Null without either. */
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

/** The value of `header <name>` or `body.<path>`; null when it is missing. */
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
