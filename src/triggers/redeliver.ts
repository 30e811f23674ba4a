import type { Skipped } from '../contract/runs.js';
import type { Redelivered } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { audit, type RecordAnswer } from '../people/index.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { announceStarted, beginRun, checkEnabled, findTarget } from '../runs/index.js';
import { isRecord, type JsonObject } from '../shared/json.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { type DeliveryOutcome, noteDelivery, type OfFlow } from './deliveries.js';
import type { TriggerKind } from './outside.js';
import { checkDelivered } from './start-delivered.js';

interface Row extends Pick<TableRow<'Delivery'>, 'deliveryId' | 'input'> {
  readonly kind: TriggerKind;
  readonly outcome: DeliveryOutcome;
  readonly trigger: JsonObject | null;
}

export interface RedeliverInput extends OfFlow {
  /** The delivery's. */
  readonly id: string;
  /** Stores the answer with its status for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer?: ((status: 200 | 202) => RecordAnswer) | undefined;
}

/**
 * Starts the flow's live version with the content of a delivery, whatever its outcome was and regardless of filter and
 * dedupe key. Refuses an unauthenticated delivery, and one whose content is no longer stored.
 */
export async function redeliver(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow, id, recordAnswer }: RedeliverInput,
): Promise<Redelivered | Skipped> {
  const { begun, answer } = await deps.db.transaction(async (sql) => {
    const { workspace, live } = await findTarget(sql, caller, {
      workspace: name,
      target: `flows/${flow}`,
      lock: 'share',
    });
    const row = await readDelivery(sql, { workspaceId: workspace.id, flow, id });
    const { kind, input, deliveryId } = row;
    const trigger = { ...contentOf(row), redeliveryOf: id };
    checkEnabled(live.plan);
    checkDelivered(live.plan, input);
    await requireFiles(sql, workspace.id, row);
    const run = await beginRun(deps, sql, { caller, workspace, ...live, input, trigger, from: 1, tags: [] });
    const note = { workspaceId: workspace.id, flow, kind, deliveryId, address: caller.address, redeliveryOf: id };
    const outcome = run ? 'started' : 'skipped';
    await noteDelivery(sql, {
      ...note,
      outcome,
      runId: run?.runId,
      ...(!run && { content: { input, trigger } }),
    });
    await audit(sql, caller, 'hook.redeliver', flow, { workspace: name, delivery: id, run: run?.runId ?? null });
    const result: Redelivered | Skipped = run ? { ok: true, runId: run.runId } : { ok: true, skipped: true };
    await recordAnswer?.(run ? 202 : 200)(sql, result);
    return { begun: run, answer: result };
  });
  if (begun) announceStarted(deps, begun);
  return answer;
}

/** Throws `not_found` unless the flow and the delivery exist. */
export async function findDelivery(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow, id }: OfFlow & { readonly id: string },
): Promise<void> {
  const { workspace } = await findTarget(deps.db, caller, { workspace: name, target: `flows/${flow}` });
  await readDelivery(deps.db, { workspaceId: workspace.id, flow, id });
}

async function readDelivery(
  sql: Sql,
  at: { readonly workspaceId: string; readonly flow: string; readonly id: string },
): Promise<Row> {
  const known = /^[\w-]{1,64}$/.test(at.id);
  const [row] = known
    ? await sql.query<Row>(
        `SELECT d.kind, d.outcome, d.delivery_id AS "deliveryId", coalesce(d.input, r.input) AS input,
            coalesce(d.trigger, r.trigger) AS trigger
          FROM delivery d LEFT JOIN run r ON r.id = d.run_id AND r.workspace_id = d.workspace_id
          WHERE d.workspace_id = $1 AND d.flow = $2 AND d.id = $3`,
        [at.workspaceId, at.flow, at.id],
      )
    : [];
  if (!row) throw notFound('delivery');
  return row;
}

function contentOf({ trigger, outcome }: Row): JsonObject {
  if (trigger) return trigger;
  const why = outcome === 'invalid-signature' ? 'it was not authenticated, so it was not stored' : 'it is not stored';
  throw new Refusal('conflict', `this delivery cannot be made again: ${why}`);
}

/** Refuses a mail whose attachments were not stored, as for a refused or filtered one. */
async function requireFiles(sql: Sql, workspaceId: string, { kind, input }: Row): Promise<void> {
  const files = kind === 'email' && isRecord(input) && Array.isArray(input.attachments) ? input.attachments : [];
  const paths = files.map((one) => (isRecord(one) ? String(one.path) : ''));
  const there = await sql.query('SELECT 1 FROM storage_entry WHERE workspace_id = $1 AND path = ANY($2)', [
    workspaceId,
    paths,
  ]);
  if (there.length < paths.length) {
    throw new Refusal('conflict', 'this mail cannot be made again: its files are not kept, so have it sent again');
  }
}
