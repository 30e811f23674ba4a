import type { Sql } from '../../platform/db/contract.js';
import { endRuns } from '../rows/end-runs.js';
import { grantSlots } from './grant-slots.js';
import { recordSlotEvent } from './record-slot-event.js';
import type { SlotClaim } from './slot-of.js';
import { addSlot, holdersOf, joinSlotLine, type SlotRun } from './slot-rows.js';

export interface Admitted {
  /** Runs that this lets continue or start, to be announced now. */
  readonly granted: readonly string[];
  /** Runs that were stopped to make room. */
  readonly stopped: readonly string[];
}

/** True when a run of this key would have to wait. Call it under `lockSlots`. */
export async function isFull(sql: Sql, workspaceId: string, claim: SlotClaim): Promise<boolean> {
  return (await holdersOf(sql, workspaceId, claim.key)).length >= claim.limit;
}

/**
 * Lets a new root run start by its flow's `concurrency`: at once, in place of the oldest holder (`cancel`), or in line,
 * without a workflow until it gets a slot. Call it under `lockSlots`, after the run's row is written.
 */
export async function admitRun(sql: Sql, run: SlotRun, claim: SlotClaim): Promise<Admitted> {
  const stopped = claim.onLimit === 'cancel' ? await makeRoom(sql, run, claim) : [];
  await addSlot(sql, run, claim);
  await joinSlotLine(sql, { runId: run.id, lane: 'main', workspaceId: run.workspaceId, slots: [run.id], starts: true });
  if (claim.onLimit === 'cancel') await moveToFront(sql, run);
  const granted = await grantSlots(sql, run.workspaceId, { runId: run.id, lane: 'main', fresh: true });
  const ids = granted.map((one) => one.runId);
  if (!ids.includes(run.id)) await recordSlotEvent(sql, run.id, 'slot.waiting', { lane: 'main' });
  return { granted: ids, stopped };
}

/** Stops the oldest holders until there is room for one more. */
async function makeRoom(sql: Sql, run: SlotRun, { key, limit }: SlotClaim): Promise<string[]> {
  const holders = await holdersOf(sql, run.workspaceId, key);
  const over = holders.slice(0, Math.max(0, holders.length - limit + 1));
  if (over.length === 0) return [];
  await sql.query('SELECT 1 FROM run WHERE id = ANY($1) ORDER BY id FOR UPDATE', [over]);
  const error = `stopped by run ${run.id}, which took its place: the flow's concurrency is ${limit}, on_limit: cancel`;
  const ended = await endRuns(sql, over, { error, stopped: true });
  await sql.query('DELETE FROM slot WHERE run_id = ANY($1)', [[...over, ...ended]]);
  return ended;
}

/** Gives the freed place to the new run, before all that wait. */
async function moveToFront(sql: Sql, run: SlotRun): Promise<void> {
  await sql.query('UPDATE slot_lane SET place = -place WHERE run_id = $1', [run.id]);
}
