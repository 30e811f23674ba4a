import { failpoint } from '../../shared/failpoint.js';
import type { Json } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import { answerPark } from '../cases/answer-park.js';
import type { ParkWrite } from '../journal/batch.js';
import type { LanePark } from '../journal/claim.js';
import { deadlineOf } from '../lane/deadline.js';
import { type Lane, parkId, type StepState, writeStep } from '../lane/lane.js';

export interface ParkRequest {
  readonly kind: 'approval' | 'event' | 'timer';
  /** Distinguishes this park from others of the same step and round. */
  readonly mark: string;
  readonly spec: Json;
  readonly need: number;
  readonly timeoutMs: number | null;
  /** How long after its opening a gate is first checked, for a reminder or an escalation. */
  readonly remindMs?: number | undefined;
  readonly escalateMs?: number | undefined;
}

/** When a tick comes a moment early by the database's clock, it is repeated after this time. */
const TICK_AGAIN_MS = 250;

/** The park's row once it is decided, or the lane's stop until then. The row is written with the stop. */
export async function parkOn(
  lane: Lane,
  state: StepState,
  request: ParkRequest,
): Promise<{ readonly decided: LanePark } | { readonly stop: Stop }> {
  const id = parkId(lane, state, request.mark);
  const park = lane.parks.get(id);
  if (park?.decided) return { decided: park };
  const answered = answerPark(lane, state, request);
  if (answered) return { decided: answered };
  const now = lane.deps.clock.now();
  const times = park ?? timesFrom(request, now);
  if (lane.writer.state !== 'parked') {
    if (!park) lane.writer.batch.parks.push({ ...parkWrite(request, state, id), ...times });
    if (!park && request.kind === 'approval') {
      lane.writer.event('approval.requested', { step: state.id, item: state.item, round: state.round, park: id });
    }
    state.status = 'waiting';
    writeStep(lane, state, 'step.waiting', { kind: request.kind });
    lane.writer.state = 'parked';
    await lane.writer.flush();
    failpoint('parked');
  }
  const wakeAt = soonest([times.due, times.remind, times.escalate, deadlineOf(lane)]);
  return { stop: { kind: 'park', park: id, wakeAt: wakeAt === null ? null : notBefore(wakeAt, park, now) } };
}

type Times = Pick<LanePark, 'due' | 'remind' | 'escalate'>;

function timesFrom({ timeoutMs, remindMs, escalateMs }: ParkRequest, now: number): Times {
  const after = (ms: number | null | undefined) => (ms === null || ms === undefined ? null : now + ms);
  return { due: after(timeoutMs), remind: after(remindMs), escalate: after(escalateMs) };
}

function parkWrite(request: ParkRequest, state: StepState, id: string): Omit<ParkWrite, 'due'> {
  const { kind, spec, need } = request;
  return { id, step: state.id, item: state.item, round: state.round, kind, spec, need };
}

function soonest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

function notBefore(wakeAt: number, park: LanePark | undefined, now: number): number {
  return park ? Math.max(wakeAt, now + TICK_AGAIN_MS) : wakeAt;
}
