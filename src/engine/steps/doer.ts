import type { StepPlan } from '../../format/model.js';
import { runAgentDoer } from '../agent/run-agent-doer.js';
import { currentStep, type Lane, type Outcome, writeStep } from '../lane/lane.js';
import { runEach } from './each.js';
import type { Doer } from './kinds.js';
import { runSubflow } from './subflow.js';

type DoerKind = 'agent' | 'subflow' | 'each' | 'none';

/** The workers of a step, one file an entry. */
const DOERS = {
  agent: runAgentDoer,
  subflow: runSubflow,
  each: runEach,
  none: async () => ({ kind: 'done', result: null }),
} satisfies Record<DoerKind, Doer> as Record<DoerKind, Doer>;

function doerOf(step: StepPlan): DoerKind {
  if (step.each !== undefined) return 'each';
  if (step.agent !== undefined) return 'agent';
  return step.subflow === undefined ? 'none' : 'subflow';
}

export async function runDoer(lane: Lane, step: StepPlan): Promise<Outcome | null> {
  const state = currentStep(lane, step);
  const done = await DOERS[doerOf(step)](lane, step, state);
  if (done.kind === 'stop') return done;
  state.result = done.result;
  state.data = done.data;
  writeStep(lane, state);
  lane.writer.state = 'running';
  return null;
}
