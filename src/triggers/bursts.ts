import type { Deps } from '../deps.js';
import type { Sql } from '../platform/db/contract.js';
import { type DueRow, forEachDue } from '../platform/db/index.js';
import { announceStarted } from '../runs/index.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import type { Json, JsonObject } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { lockTarget } from './lock-target.js';
import type { TriggerKind } from './outside.js';
import { checkDelivered, requireTrigger, startDelivered } from './start-delivered.js';

export interface BurstDelivery {
  readonly workspaceId: string;
  readonly flow: string;
  readonly key: string;
  readonly kind: TriggerKind;
  readonly input: Json;
  readonly trigger: JsonObject;
  readonly address: string | null;
  /** How long it must be quiet before the run begins. */
  readonly quietMs: number;
}

/** A burst ends after at most this many quiet periods, so that its run is not postponed forever. */
const LONGEST = 10;

/**
 * Adds the delivery to the burst of its key, or opens one. `startsAt` is when the run starts if no other delivery
 * arrives.
 */
export async function joinBurst(
  sql: Sql,
  one: BurstDelivery,
): Promise<{ readonly id: string; readonly startsAt: Date }> {
  const [row] = await sql.query<{ id: string; startsAt: Date }>({
    name: 'join-burst',
    text: `INSERT INTO burst AS b (id, workspace_id, flow, key, kind, input, trigger, address, opened_at, due_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp(), clock_timestamp() + $9 * interval '1 ms')
      ON CONFLICT (workspace_id, flow, key) DO UPDATE SET kind = excluded.kind, input = excluded.input,
        trigger = excluded.trigger, address = excluded.address, count = b.count + 1,
        due_at = LEAST(excluded.due_at, b.opened_at + $9 * $10 * interval '1 ms')
      RETURNING id, due_at AS "startsAt"`,
    values: [
      newId(),
      one.workspaceId,
      one.flow,
      one.key,
      one.kind,
      toJson(one.input),
      toJson(one.trigger),
      one.address,
      one.quietMs,
      LONGEST,
    ],
  });
  if (!row) throw new Error('a burst was not written');
  return row;
}

interface DueBurst extends Omit<BurstDelivery, 'quietMs'> {
  readonly count: number;
}

interface Place extends DueRow {
  readonly id: string;
  readonly workspaceId: string;
  readonly flow: string;
}

/** Starts the runs of quiet bursts and returns how many bursts ended. Safe to run in several processes at once. */
export async function sweepBursts(deps: Deps, signal?: AbortSignal): Promise<number> {
  const rows = await deps.db.query<Place>({
    name: 'due-bursts',
    text: `SELECT id, workspace_id AS "workspaceId", flow, tries FROM burst
      WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT 100`,
  });
  return forEachDue(deps, 'burst', { rows, work: (place) => endBurst(deps, place), signal });
}

async function endBurst(deps: Deps, place: Place): Promise<void> {
  try {
    const begun = await deps.db.transaction((sql) => startBurst(deps, sql, place));
    if (begun) announceStarted(deps, begun);
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    // The senders have their answers already, so the reason goes to the list of deliveries.
    await deps.db.transaction(async (sql) => {
      await sql.query('DELETE FROM burst WHERE id = $1', [place.id]);
      await sql.query(`UPDATE delivery SET outcome = 'refused', detail = $2, burst_id = NULL WHERE burst_id = $1`, [
        place.id,
        error.message,
      ]);
    });
  }
}

/**
 * Deletes the burst's row with the start of its run: other processes find no row, and later deliveries open a new
 * burst.
 */
async function startBurst(deps: Deps, sql: Sql, { id: burstId, workspaceId, flow }: Place) {
  const { workspace, live } = await lockTarget(sql, workspaceId, flow);
  const [burst] = await sql.query<DueBurst>(
    `DELETE FROM burst WHERE id = $1 AND due_at <= clock_timestamp() RETURNING kind, input, trigger, address, count`,
    [burstId],
  );
  if (!burst) return null;
  requireTrigger(live.plan, burst.kind);
  checkDelivered(live.plan, burst.input);
  const id = newId(deps.clock.now());
  const trigger = { ...burst.trigger, deliveries: burst.count };
  const begun = await startDelivered(deps, sql, { ...burst, id, workspace, live, trigger });
  // Each delivery keeps its content, since the run has only that of the last one.
  await sql.query(`UPDATE delivery SET outcome = $2, run_id = $3, burst_id = NULL WHERE burst_id = $1`, [
    burstId,
    begun ? 'started' : 'skipped',
    begun ? id : null,
  ]);
  failpoint('burst-taken');
  return begun;
}
