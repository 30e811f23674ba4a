import { failpoint } from '../../shared/failpoint.js';
import type { Json } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import type { ParkRow } from '../journal/claim.js';
import { deadlineOf } from '../lane/deadline.js';
import { type Lane, parkId, type StepState, writeStep } from '../lane/lane.js';

export interface ParkRequest {
  readonly kind: 'approval' | 'event' | 'timer';
  /** What tells this park from others of the same step and round. */
  readonly mark: string;
  readonly spec: Json;
  readonly need: number;
  readonly timeoutMs: number | null;
}

/** The park's row once it is decided, or where the lane stops until then. The row is written with the stop. */
export async function parkOn(
  lane: Lane,
  state: StepState,
  request: ParkRequest,
): Promise<{ readonly decided: ParkRow } | { readonly stop: Stop }> {
  const id = parkId(lane, state, request.mark);
  const park = lane.parks.get(id);
  if (park?.decided) return { decided: park };
  const due = park ? park.due : request.timeoutMs === null ? null : lane.deps.clock.now() + request.timeoutMs;
  if (lane.writer.state !== 'parked') {
    if (!park) lane.writer.batch.parks.push({ ...parkWrite(request, state, id), due });
    if (!park && request.kind === 'approval') {
      lane.writer.event('approval.requested', { step: state.id, item: state.item, round: state.round, park: id });
    }
    state.status = 'waiting';
    writeStep(lane, state, 'step.waiting', { kind: request.kind });
    lane.writer.state = 'parked';
    await lane.writer.flush();
    failpoint('parked');
  }
  return { stop: { kind: 'park', park: id, wakeAt: soonest(due, deadlineOf(lane)) } };
}

function parkWrite(request: ParkRequest, state: StepState, id: string) {
  const { kind, spec, need } = request;
  return { id, step: state.id, item: state.item, round: state.round, kind, spec, need };
}

function soonest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
