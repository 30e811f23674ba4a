import type { GatePlan, StepPlan } from '../../format/model.js';
import { isRecord, type Json } from '../../shared/json.js';
import { StepFailure } from '../errors.js';
import type { LanePark } from '../journal/claim.js';
import { type Lane, type Outcome, type StepState, writeStep } from '../lane/lane.js';
import { goBack } from './fail-step.js';
import { gateSpec, needOf } from './gate-spec.js';
import type { RunPark } from './kinds.js';
import { parkOn } from './park-on.js';

export const runApproval: RunPark = async (lane, step, state) => {
  const { gate } = step;
  if (!gate) throw new Error(`step ${step.id} has no gate`);
  const parked = await parkOn(lane, state, {
    kind: 'approval',
    mark: 'approval',
    spec: gateSpec(lane, step, state, gate) as unknown as Json,
    need: needOf(gate),
    timeoutMs: gate.timeoutMs ?? null,
    remindMs: gate.remindMs,
    escalateMs: gate.escalate?.afterMs,
  });
  if ('stop' in parked) return { kind: 'stop', stop: parked.stop };
  return decided(lane, step, state, gate, parked.decided);
};

function decided(lane: Lane, step: StepPlan, state: StepState, gate: GatePlan, park: LanePark): Outcome | null {
  const who = isRecord(park.decidedBy) ? String(park.decidedBy.label) : 'the clock';
  state.decision = {
    decision: park.decision,
    by: who,
    at: park.decidedAt === null ? null : new Date(park.decidedAt).toISOString(),
    note: park.note,
    form: null,
    ...(isRecord(park.payload) ? (park.payload as Record<string, Json>) : {}),
  };
  if (park.decision === 'approve') return null;
  if (park.decision === 'reject')
    return rejected(lane, step, state, gate.onReject, `rejected by ${who}${noteSuffix(park.note)}`, park.note);
  if (gate.onTimeout === 'continue') return null;
  if (gate.onTimeout === 'fail') throw new StepFailure('no decision in time', 'timeout');
  if (gate.onTimeout === 'reject')
    return rejected(lane, step, state, gate.onReject, 'rejected: no decision in time', park.note);
  return rejected(lane, step, state, gate.onTimeout, 'no decision in time', park.note);
}

function noteSuffix(note: string | null): string {
  return note ? `: ${note}` : '';
}

function rejected(
  lane: Lane,
  step: StepPlan,
  state: StepState,
  target: string,
  error: string,
  note: string | null,
): Outcome | null {
  if (target === 'continue') return null;
  if (target === 'stop') {
    state.status = 'failed';
    state.error = error;
    writeStep(lane, state, 'step.failed', { error });
    return { kind: 'fail', error };
  }
  const outcome = goBack(lane, step, target, note ?? error);
  if (!outcome) throw new StepFailure(`${error}, after ${step.maxRounds ?? 1} rounds`);
  state.status = 'completed';
  writeStep(lane, state, 'step.completed', { again: target });
  return outcome;
}
