import type { Sql } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { Refusal } from '../../shared/refusal.js';
import type { Stop } from '../../workflows/contract.js';
import { Ended, Fenced } from '../errors.js';
import { deadlineOf, isOverdue } from '../lane/deadline.js';
import type { Lane } from '../lane/lane.js';
import { postponedStop } from '../lane/postpone.js';
import { announceRuns } from '../outbox/announce-runs.js';
import { freeSlots } from './free-slots.js';
import { type GrantedLane, grantSlots } from './grant-slots.js';
import { recordSlotEvent } from './record-slot-event.js';
import { slotOf } from './slot-of.js';
import { addSlot, joinSlotLine, type LanePlace, lockSlots, slotPark } from './slot-rows.js';

/** A lane that is postponed for at most this long keeps its slot. */
const HELD_MS = 10_000;
/** The state of a lane that has released its slots and will be back without a wake. */
const RELEASED_STATES = { fork: 'forked', later: 'put-off' } as const;

/** The lane as one attempt holds it: this attempt must not take or free a later attempt's slots. */
export interface HeldLane {
  readonly lane: Lane;
  readonly fence: bigint;
}

/**
 * Works only while the run, and each run above it, holds the slot that its flow's `concurrency` asks for; without one
 * the lane stops in line for it. When the lane has stopped, unused slots go to the next in line.
 */
export async function withSlots(held: HeldLane, work: () => Promise<Stop>): Promise<Stop> {
  const { lane } = held;
  // A run whose time is over only ends: it needs no slot.
  if (isOverdue(lane)) return work();
  const early = postponedStop(lane);
  if (lane.run.slots === null || lane.run.slots.length === 0) return early ?? work();
  if (early === null && !(await acquireSlots(held))) {
    failpoint('slot-waiting');
    return { kind: 'park', park: slotPark(lane.run.id, lane.name), wakeAt: deadlineOf(lane) };
  }
  failpoint('slot-taken');
  const stop = early ?? (await work());
  failpoint('slot-unneeded');
  if (!continuesSoon(lane, stop)) await releaseSlots(held, stop);
  return stop;
}

/** True for a lane that continues at once, or after a wait too short to give up its slot. */
function continuesSoon({ deps }: Lane, stop: Stop): boolean {
  return stop.kind === 'again' || (stop.kind === 'later' && stop.at - deps.clock.now() <= HELD_MS);
}

function placeOf({ run, name }: Lane): LanePlace {
  return { runId: run.id, lane: name, workspaceId: run.workspaceId, slots: run.slots ?? [] };
}

/** Takes all the slots that the lane needs; false when it is put in line for them. */
async function acquireSlots(held: HeldLane): Promise<boolean> {
  const { lane } = held;
  const place = placeOf(lane);
  const { has, granted } = await lane.deps.db.transaction(async (sql) => {
    await lockSlots(sql, place.workspaceId);
    await assertHeld(sql, held);
    await addOwnSlot(sql, lane);
    const { busy, fresh } = await joinSlotLine(sql, place);
    if (busy) return { has: true, granted: [] };
    const granted = await grantSlots(sql, place.workspaceId, { ...place, fresh });
    const has = granted.some((one) => one.runId === place.runId && one.lane === place.lane);
    if (has) return { has, granted };
    if (fresh) await recordSlotEvent(sql, place.runId, 'slot.waiting', { lane: place.lane });
    // Never hold one slot while waiting for another: two runs could wait for each other forever.
    await freeSlots(sql, place.slots);
    return { has, granted: [...granted, ...(await grantSlots(sql, place.workspaceId))] };
  });
  announceGranted(lane, granted);
  return has;
}

/** A child's slot is added when it first needs it: its input gives the key, as at a start. */
async function addOwnSlot(sql: Sql, { run, plan }: Lane): Promise<void> {
  if (!run.slots?.includes(run.id) || run.parentId === null) return;
  const claim = slotOf(plan, { input: run.input, trigger: run.trigger });
  if (claim === null) return;
  if ('fault' in claim) throw new Refusal('refused', claim.fault);
  await addSlot(sql, run, claim);
}

async function releaseSlots(held: HeldLane, stop: Stop): Promise<void> {
  const { lane } = held;
  const place = placeOf(lane);
  const granted = await lane.deps.db.transaction(async (sql) => {
    await lockSlots(sql, place.workspaceId);
    await assertHeld(sql, held, { ended: true });
    if (stop.kind === 'fork' || stop.kind === 'later') {
      await sql.query({
        name: 'slot-lane-rests',
        text: `UPDATE slot_lane SET state = $3, room = $4 WHERE run_id = $1 AND lane = $2`,
        values: [place.runId, place.lane, RELEASED_STATES[stop.kind], stop.kind === 'fork' ? stop.parallel : null],
      });
    } else {
      await sql.query({
        name: 'slot-lane-left',
        text: 'DELETE FROM slot_lane WHERE run_id = $1 AND lane = $2',
        values: [place.runId, place.lane],
      });
    }
    await freeSlots(sql, place.slots);
    return grantSlots(sql, place.workspaceId);
  });
  announceGranted(lane, granted);
}

async function assertHeld(sql: Sql, { lane, fence }: HeldLane, allow: { ended?: true } = {}): Promise<void> {
  const [row] = await sql.query<{ fence: bigint; ended: boolean }>({
    name: 'slot-fence',
    text: `SELECT l.fence, r.finished_at IS NOT NULL AS ended FROM lane l JOIN run r ON r.id = l.run_id
      WHERE l.run_id = $1 AND l.lane = $2`,
    values: [lane.run.id, lane.name],
  });
  if (row?.fence !== fence) throw new Fenced();
  if (row.ended && !allow.ended) throw new Ended();
}

function announceGranted({ deps }: Lane, granted: readonly GrantedLane[]): void {
  void announceRuns(
    deps,
    granted.map((one) => one.runId),
  );
}
