import type { Sql } from '../platform/db/contract.js';
import { sweepRows } from '../platform/db/index.js';
import { newId } from '../shared/ids.js';
import type { Json, JsonObject } from '../shared/json.js';
import { storableJson, storableText } from '../shared/storable-json.js';
import type { TriggerKind } from './outside.js';

export const OUTCOMES = [
  'started',
  'duplicate',
  'debounced',
  'filtered',
  'skipped',
  'loop',
  'invalid-signature',
  'refused',
] as const;
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

/** Longer ids are cut for display. */
const MAX_SHOWN = 300;

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

const KEPT = 100;

/** Deletes deliveries that the lists no longer show, and keys after a day. */
export async function sweepDeliveries(sql: Sql): Promise<void> {
  const isOld = `burst_id IS NULL AND id IN (SELECT id FROM (
      SELECT id, row_number() OVER (PARTITION BY workspace_id, flow ORDER BY id DESC) AS place FROM delivery) AS old
    WHERE place > $1)`;
  await sweepRows(sql, 'delivery', isOld, [KEPT]);
  await sweepRows(sql, 'delivery_key', `at < now() - interval '24 hours'`);
}
