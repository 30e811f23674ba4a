import type { StepPlan } from '../../format/model.js';
import { currentStep, type Lane, type Outcome } from '../lane/lane.js';
import { runApproval } from './approval.js';
import { runEvent } from './event.js';
import type { RunPark } from './kinds.js';
import { runTimer } from './timer.js';

/** The parks after a step's doer, one file an entry. */
const PARKS = {
  approval: runApproval,
  event: runEvent,
  timer: runTimer,
  nothing: async () => null,
} as const satisfies Record<'approval' | 'event' | 'timer' | 'nothing', RunPark>;

export async function runPark(lane: Lane, step: StepPlan): Promise<Outcome | null> {
  const kind = step.gate ? 'approval' : (step.wait?.kind ?? 'nothing');
  const outcome = await PARKS[kind](lane, step, currentStep(lane, step));
  if (outcome?.kind !== 'stop') lane.writer.state = 'running';
  return outcome;
}
