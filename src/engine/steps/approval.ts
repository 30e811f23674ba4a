import type { Json } from '../../shared/json.js';
import { isRecord } from '../../shared/json.js';
import type { GatePlan, StepPlan } from '../../workspace/model.js';
import { StepFailure } from '../errors.js';
import type { ParkRow } from '../journal/claim.js';
import { type Lane, type Outcome, type StepState, writeStep } from '../lane/lane.js';
import { leavesOf } from '../lane/lane-plan.js';
import { scopeOf } from '../lane/scope.js';
import { plainText } from '../text/plain-text.js';
import { goBack } from './fail-step.js';
import type { RunPark } from './kinds.js';
import { parkOn } from './park-on.js';

/** What a gate's row keeps for those who decide it; `mayDecide` reads it at every door. */
export interface GateSpec {
  readonly n: number;
  readonly title: string;
  /** What is asked, or what the doer made. */
  readonly ask: string;
  readonly approvers: readonly string[];
  readonly self: boolean;
  readonly edit: readonly string[];
  readonly form: Json;
  readonly escalate: { readonly afterMs: number; readonly to: string } | null;
}

export const runApproval: RunPark = async (lane, step, state) => {
  const { gate } = step;
  if (!gate) throw new Error(`step ${step.id} has no gate`);
  const parked = await parkOn(lane, state, {
    kind: 'approval',
    mark: 'approval',
    spec: gateSpec(lane, step, state, gate) as unknown as Json,
    need: gate.need === 'all' ? gate.approvers.length : gate.need,
    timeoutMs: gate.timeoutMs ?? null,
  });
  if ('stop' in parked) return { kind: 'stop', stop: parked.stop };
  return decided(lane, step, state, gate, parked.decided);
};

function gateSpec(lane: Lane, step: StepPlan, state: StepState, gate: GatePlan): GateSpec {
  const made = step.agent ?? step.subflow;
  return {
    n: step.n,
    title: step.title,
    ask: made === undefined ? question(lane, step) : (state.result ?? ''),
    approvers: gate.approvers,
    self: gate.self,
    edit: gate.edit,
    form: gate.form ?? null,
    escalate: gate.escalate ?? null,
  };
}

/** A bare gate asks what it says; one that says nothing shows the newest result before it, so nobody decides blindly. */
function question(lane: Lane, step: StepPlan): string {
  const said = plainText(step.instruction, scopeOf(lane));
  if (said !== '') return said;
  const before = leavesOf(lane.plan).filter((other) => other.n < step.n);
  return before.map((other) => lane.steps.get(other.id)?.result).findLast((result) => result) ?? step.title;
}

function decided(lane: Lane, step: StepPlan, state: StepState, gate: GatePlan, park: ParkRow): Outcome | null {
  const who = isRecord(park.decidedBy) ? String(park.decidedBy.label) : 'the clock';
  state.decision = {
    decision: park.decision,
    by: who,
    at: park.decidedAt === null ? null : new Date(park.decidedAt).toISOString(),
    note: park.note,
    form: isRecord(park.payload) ? ((park.payload.form as Json) ?? null) : null,
  };
  if (park.decision === 'approve') return null;
  if (park.decision === 'reject')
    return rejected(lane, step, state, gate.onReject, `rejected by ${who}${tail(park.note)}`, park.note);
  if (gate.onTimeout === 'continue') return null;
  if (gate.onTimeout === 'fail') throw new StepFailure('nobody decided in time', 'timeout');
  if (gate.onTimeout === 'reject')
    return rejected(lane, step, state, gate.onReject, 'rejected: nobody decided in time', park.note);
  return rejected(lane, step, state, gate.onTimeout, 'nobody decided in time', park.note);
}

function tail(note: string | null): string {
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
