import { createHash } from 'node:crypto';
import type { LivePlan } from '../content/index.js';
import type { HookPassed, HookStarted } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { evaluateCel, type Plan } from '../format/index.js';
import type { WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { announceStarted, type BegunRun } from '../runs/index.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import type { Json, JsonObject } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { joinBurst } from './bursts.js';
import { type DeliveryNote, noteDelivery } from './deliveries.js';
import { lockTarget } from './lock-target.js';
import type { TriggerKind } from './outside.js';
import { settingsOf } from './settings.js';
import { checkDelivered, requireTrigger, startDelivered } from './start-delivered.js';
import { withoutCredentials } from './trigger-data.js';

/** Longer ids are hashed, since senders choose them and an index entry is limited. */
const MAX_KEY = 200;

/** An authenticated delivery for a flow. */
export interface Arrival {
  readonly kind: TriggerKind;
  readonly workspace: WorkspaceRow;
  readonly flow: string;
  readonly input: Json;
  /** What conditions read. The run stores it without the sender's credentials. */
  readonly trigger: JsonObject;
  /** Two deliveries with the same id are duplicates; null never is. */
  readonly deliveryId: string | null;
  /** Deliveries with the same key are one burst under `debounce`. */
  readonly burstKey: string | null;
  readonly address: string | null;
  /** A note for the list of deliveries, such as which attachments were left out. */
  readonly detail?: string;
  /** Stores the delivery's files, in the transaction that writes its run, its burst or its row for a redelivery. */
  readonly fill?: (sql: Sql) => Promise<void>;
}

/** The challenge by which a chat provider verifies the URL. */
export type Challenge = Extract<HookPassed, { readonly challenge: string }>;

/** The answer to a delivery; a challenge is answered before anything is delivered. */
export type Delivered = Exclude<HookStarted | HookPassed, Challenge>;

interface AcceptedDelivery {
  readonly answer: Delivered;
  readonly begun: BegunRun | null;
}

/**
 * Starts the flow's run, or answers why not. The key, the run and the outbox row are one transaction, so a delivery
 * that is sent again, also concurrently, starts no second run and gets the same answer.
 */
export async function deliver(deps: Deps, arrival: Arrival): Promise<Delivered> {
  try {
    const { answer, begun } = await deps.db.transaction(async (sql) => {
      const accepted = await acceptDelivery(deps, sql, arrival);
      failpoint('delivery-written');
      return accepted;
    });
    failpoint('delivery-committed');
    if (begun) announceStarted(deps, begun);
    return answer;
  } catch (error) {
    if (error instanceof Refusal) await recordRefusedDelivery(deps.db, arrival, error);
    throw error;
  }
}

/** Records the delivery as refused, with the reason. */
export async function recordRefusedDelivery(sql: Sql, arrival: Arrival, refusal: Refusal): Promise<void> {
  await noteDelivery(sql, { ...noteOf(arrival), outcome: 'refused', detail: refusal.message });
}

/** Accepts the delivery in the caller's transaction. The caller announces `begun` after the commit. */
export async function acceptDelivery(deps: Deps, sql: Sql, arrival: Arrival): Promise<AcceptedDelivery> {
  const { kind, flow } = arrival;
  const { workspace, live } = await lockTarget(sql, arrival.workspace.id, flow);
  requireTrigger(live.plan, kind);
  if (!passes(live.plan, arrival)) {
    await noteDelivery(sql, { ...noteOf(arrival), outcome: 'filtered' });
    return { answer: { ok: true, filtered: true }, begun: null };
  }
  checkDelivered(live.plan, arrival.input);
  return startOrDebounce(deps, sql, { arrival, workspace, live });
}

function passes(plan: Plan, { input, trigger, kind }: Arrival): boolean {
  const { filter } = settingsOf(plan);
  if (filter === undefined) return true;
  const run = { flow: plan.flow, tags: plan.tags, startedBy: kind };
  const answer = evaluateCel(filter, { input, trigger, run });
  if (!answer.ok) throw new Refusal('refused', `filter: ${answer.message}`, { code: 'filter' });
  if (typeof answer.value === 'boolean') return answer.value;
  throw new Refusal('refused', 'filter: it must be true or false', { code: 'filter' });
}

interface CheckedDelivery {
  readonly arrival: Arrival;
  readonly workspace: WorkspaceRow;
  readonly live: LivePlan;
}

async function startOrDebounce(
  deps: Deps,
  sql: Sql,
  { arrival, workspace, live }: CheckedDelivery,
): Promise<AcceptedDelivery> {
  const { kind, flow, deliveryId, burstKey } = arrival;
  const { debounceMs } = settingsOf(live.plan);
  const id = newId(deps.clock.now());
  const place = { workspaceId: workspace.id, flow };
  const claim = deliveryId === null ? null : { ...place, key: keyOf(kind, deliveryId) };
  const first = claim && (await claimDelivery(sql, claim, { ok: true, runId: id }));
  if (first) {
    const runId = 'runId' in first ? first.runId : null;
    await noteDelivery(sql, { ...noteOf(arrival), outcome: 'duplicate', runId, content: undefined });
    return { answer: { ...first, duplicate: true }, begun: null };
  }
  const kept = withoutCredentials({ ...arrival.trigger, ...(deliveryId !== null && { deliveryId }) });
  if (debounceMs !== undefined && burstKey !== null) {
    const burst = await joinBurst(sql, {
      ...place,
      ...arrival,
      key: keyOf(kind, burstKey),
      trigger: kept,
      quietMs: debounceMs,
    });
    const answer: Delivered = { ok: true, debounced: true, startsAt: burst.startsAt.toISOString() };
    if (claim) await replaceDeliveryAnswer(sql, claim, answer);
    await arrival.fill?.(sql);
    await noteDelivery(sql, { ...noteOf(arrival), outcome: 'debounced', burstId: burst.id });
    return { answer, begun: null };
  }
  const begun = await startDelivered(deps, sql, { ...arrival, id, workspace, live, trigger: kept });
  const answer: Delivered = begun ? { ok: true, runId: id } : { ok: true, skipped: true };
  if (!begun) {
    if (claim) await replaceDeliveryAnswer(sql, claim, answer);
    // Stored for a redelivery by an admin.
    await arrival.fill?.(sql);
  }
  await noteDelivery(sql, {
    ...noteOf(arrival),
    ...(begun ? { outcome: 'started', runId: id, content: undefined } : { outcome: 'skipped' }),
  });
  return { answer, begun };
}

function noteOf(arrival: Arrival): Omit<DeliveryNote, 'outcome'> {
  const { kind, workspace, flow, deliveryId, address, detail, input } = arrival;
  const content = { input, trigger: withoutCredentials(arrival.trigger) };
  return { workspaceId: workspace.id, flow, kind, deliveryId, address, detail, content };
}

interface DeliveryKey {
  readonly workspaceId: string;
  readonly flow: string;
  readonly key: string;
}

function keyOf(kind: string, id: string): string {
  const text = `${kind}/${id}`;
  return text.length > MAX_KEY ? `${kind}#${createHash('sha256').update(text).digest('hex')}` : text;
}

/**
 * Claims the delivery's key for a day, in the transaction of its effect, and returns null; or returns the answer of the
 * first delivery with this key. Concurrent deliveries wait here until the first one commits or rolls back.
 */
async function claimDelivery(sql: Sql, at: DeliveryKey, answer: Delivered): Promise<Delivered | null> {
  const claimed = await sql.query({
    name: 'claim-delivery',
    text: `INSERT INTO delivery_key AS k (workspace_id, flow, key, answer) VALUES ($1, $2, $3, $4)
      ON CONFLICT (workspace_id, flow, key) DO UPDATE SET answer = excluded.answer, at = now()
        WHERE k.at < now() - interval '24 hours' RETURNING 1`,
    values: [at.workspaceId, at.flow, at.key, toJson(answer)],
  });
  if (claimed.length > 0) return null;
  const [row] = await sql.query<{ answer: Delivered }>({
    name: 'read-delivery-answer',
    text: 'SELECT answer FROM delivery_key WHERE workspace_id = $1 AND flow = $2 AND key = $3',
    values: [at.workspaceId, at.flow, at.key],
  });
  if (!row) throw new Error(`the delivery key ${at.key} disappeared between two statements`);
  return row.answer;
}

/** Replaces the answer under a key that this transaction has claimed. */
async function replaceDeliveryAnswer(sql: Sql, at: DeliveryKey, answer: Delivered): Promise<void> {
  await sql.query('UPDATE delivery_key SET answer = $4 WHERE workspace_id = $1 AND flow = $2 AND key = $3', [
    at.workspaceId,
    at.flow,
    at.key,
    toJson(answer),
  ]);
}
