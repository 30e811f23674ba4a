import type { Deliveries } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { sweepRows } from '../platform/db/index.js';
import { findTarget } from '../runs/index.js';
import { keyCursors, type PageInput } from '../shared/cursor.js';
import { newId } from '../shared/ids.js';
import { isRecord, type Json, type JsonObject } from '../shared/json.js';
import type { Caller } from '../shared/roles.js';
import { storableJson, storableText } from '../shared/storable-json.js';
import type { TriggerKind } from './outside.js';
import type { TriggerSettings } from './settings.js';

export interface OfFlow {
  readonly workspace: string;
  readonly flow: string;
}

type Entry = Deliveries['deliveries'][number];

const cursors = keyCursors('deliveries');

const SHOWN = {
  id: true,
  at: true,
  kind: true,
  outcome: true,
  detail: true,
  runId: true,
  deliveryId: true,
  address: true,
  redeliveryOf: true,
} as const satisfies Record<keyof Entry, true>;

/** The stored deliveries of a flow with their outcomes, newest first. */
export async function listDeliveries(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow, limit, cursor }: OfFlow & PageInput,
): Promise<Deliveries> {
  const { workspace } = await findTarget(deps.db, caller, { workspace: name, target: `flows/${flow}` });
  const after = cursors.read(cursor);
  const rows = await deps.db.prisma.delivery.findMany({
    select: SHOWN,
    where: { workspaceId: workspace.id, flow, ...(after !== null && { id: { lt: after } }) },
    orderBy: { id: 'desc' },
    take: limit + 1,
  });
  const { page, next } = cursors.page(rows, limit, ({ id }) => id);
  return { deliveries: page.map(toView), next };
}

function toView(row: Pick<TableRow<'Delivery'>, keyof typeof SHOWN>): Entry {
  return {
    ...row,
    at: row.at.toISOString(),
    kind: row.kind as Entry['kind'],
    outcome: row.outcome as Entry['outcome'],
  };
}

const OUTCOMES = [
  'started',
  'duplicate',
  'debounced',
  'filtered',
  'skipped',
  'loop',
  'invalid-signature',
  'refused',
] as const;

/** Longer ids are cut for display. */
const MAX_SHOWN = 300;

const KEPT = 100;

/**
 * The headers in which senders give a delivery's id. Bodies are never compared: two equal ones may both be intended.
 */
const ID_HEADERS = ['webhook-id', 'svix-id', 'x-github-delivery', 'x-gitlab-event-uuid', 'idempotency-key'];

/** Payment and chat providers have the event's id in the body. */
const OWN_IDS: Readonly<Record<string, (body: Json) => string | null>> = {
  payment: (body) => textAt(body, ['id']),
  chat: (body) => textAt(body, ['event_id']),
};

export type DeliveryOutcome = (typeof OUTCOMES)[number];

export interface DeliveryNote {
  readonly workspaceId: string;
  readonly flow: string;
  readonly kind: TriggerKind;
  readonly outcome: DeliveryOutcome;
  readonly detail?: string | undefined;
  readonly runId?: string | null | undefined;
  readonly deliveryId?: string | null | undefined;
  readonly address: string | null;
  /** What a redelivery would start with, unless a run has it; undefined for an unauthenticated delivery. */
  readonly content?: { readonly input: Json; readonly trigger: JsonObject } | undefined;
  readonly burstId?: string | undefined;
  readonly redeliveryOf?: string | undefined;
}

/** Records the outcome of a delivery, for the admins of the workspace. */
export async function noteDelivery(sql: Sql, note: DeliveryNote): Promise<void> {
  await sql.query({
    name: 'note-delivery',
    text: `INSERT INTO delivery
        (id, workspace_id, flow, kind, outcome, detail, run_id, delivery_id, address, input, trigger, burst_id, redelivery_of)
      SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 WHERE EXISTS (SELECT 1 FROM workspace WHERE id = $2)`,
    values: [
      newId(),
      note.workspaceId,
      note.flow,
      note.kind,
      note.outcome,
      shown(note.detail, 1_000),
      note.runId ?? null,
      shown(note.deliveryId, MAX_SHOWN),
      note.address,
      note.content ? storableJson(note.content.input) : null,
      note.content ? storableJson(note.content.trigger) : null,
      note.burstId ?? null,
      note.redeliveryOf ?? null,
    ],
  });
}

function shown(text: string | null | undefined, max: number): string | null {
  return text == null ? null : storableText(text.slice(0, max));
}

/** Deletes deliveries that the lists no longer show, and keys after a day. */
export async function sweepDeliveries(sql: Sql): Promise<void> {
  const isOld = `burst_id IS NULL AND id IN (SELECT id FROM (
      SELECT id, row_number() OVER (PARTITION BY workspace_id, flow ORDER BY id DESC) AS place FROM delivery) AS old
    WHERE place > $1)`;
  await sweepRows(sql, 'delivery', isOld, [KEPT]);
  await sweepRows(sql, 'delivery_key', `at < now() - interval '24 hours'`);
}

interface Identified {
  readonly header: (name: string) => string | undefined;
  /** The body that ids are read from: numbers that a double cannot hold exactly are texts in it. */
  readonly body: () => Json;
}

/**
 * The id by which duplicates are found: the value that `dedupe:` names, else the sender's own id. Null without either.
 */
export function deliveryId(
  { dedupe, signature }: Pick<TriggerSettings, 'dedupe' | 'signature'>,
  at: Identified,
): string | null {
  if (dedupe !== undefined) return dedupeKey(dedupe, at);
  const own = signature === null ? null : (OWN_IDS[signature]?.(at.body()) ?? null);
  return own ?? ID_HEADERS.map((name) => at.header(name)).find((value) => value !== undefined && value !== '') ?? null;
}

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
