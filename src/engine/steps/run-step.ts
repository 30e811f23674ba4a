import type { StepPlan } from '../../format/model.js';
import { StepFailure } from '../errors.js';
import type { Phase } from '../journal/claim.js';
import { isOverdue } from '../lane/deadline.js';
import { currentStep, type Lane, type Outcome, writeStep } from '../lane/lane.js';
import { conditionHolds, scopeOf, stepScope } from '../lane/scope.js';
import { runDoer } from './doer.js';
import { failStep, goBack } from './fail-step.js';
import { runPark } from './park.js';
import { startStep } from './start-step.js';

/** A phase returns the step's outcome, or null when the next phase follows. */
type RunPhase = (lane: Lane, step: StepPlan) => Promise<Outcome | null>;

/** Order inside a step: when, the doer works, wait or approve, until, next (format.md, rule 6). */
const PHASES = {
  start: { run: startStep, next: 'doer' },
  doer: { run: runDoer, next: 'park' },
  park: { run: runPark, next: 'after' },
  after: { run: finishStep, next: 'after' },
} as const satisfies Record<Phase, { run: RunPhase; next: Phase }>;

export async function runStep(lane: Lane, step: StepPlan): Promise<Outcome> {
  for (;;) {
    const { run, next } = PHASES[lane.writer.phase];
    try {
      const outcome = await run(lane, step);
      if (outcome) return outcome;
      lane.writer.phase = next;
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      if (isOverdue(lane)) return { kind: 'overdue' };
      const outcome = await failStep(lane, step, error);
      if (outcome) return outcome;
    }
  }
}

async function finishStep(lane: Lane, step: StepPlan): Promise<Outcome> {
  const state = currentStep(lane, step);
  if (step.until !== undefined && step.backTo !== undefined) {
    const self = stepScope({ ...state, status: 'completed' });
    if (!conditionHolds(step.until, scopeOf(lane, { self }), 'until')) {
      const outcome = goBack(lane, step, step.backTo, state.result ?? '');
      if (!outcome) throw new StepFailure(`"until" did not hold after ${step.maxRounds ?? 1} rounds`);
      state.status = 'completed';
      writeStep(lane, state, 'step.completed', { again: step.backTo });
      return outcome;
    }
  }
  state.status = 'completed';
  writeStep(lane, state, 'step.completed');
  return { kind: 'next' };
}
