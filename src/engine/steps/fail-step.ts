import type { StepPlan } from '../../format/model.js';
import type { StepFailure } from '../errors.js';
import { currentStep, type Lane, type Outcome, type StepState, writeStep } from '../lane/lane.js';
import { postpone } from '../lane/postpone.js';

/**
 * Handles a failure: starts another attempt (null, or a stop until its wait is over), or fails the step, and `on_fail`
 * decides.
 */
export async function failStep(lane: Lane, step: StepPlan, failure: StepFailure): Promise<Outcome | null> {
  const state = currentStep(lane, step);
  const retry = lane.writer.phase === 'doer' && step.each === undefined ? step.retry : undefined;
  const applies = retry && (retry.on.length === 0 || retry.on.some((one) => one === failure.failureClass));
  if (retry && applies && state.attempts < retry.max) return tryAgain(lane, state, retry, failure);
  state.status = 'failed';
  state.error = failure.message;
  writeStep(lane, state, 'step.failed', { error: failure.message, class: failure.failureClass });
  return afterFailure(lane, step, failure.message);
}

async function tryAgain(
  lane: Lane,
  state: StepState,
  retry: NonNullable<StepPlan['retry']>,
  failure: StepFailure,
): Promise<Outcome | null> {
  const waitMs = retry.waitMs * retry.backoff ** (state.attempts - 1);
  state.attempts += 1;
  lane.writer.tries = state.attempts;
  lane.writer.state = 'running';
  const now = lane.deps.clock.now();
  lane.writer.memory = { ...lane.writer.memory, since: now + waitMs };
  writeStep(lane, state, 'step.retrying', { error: failure.message, attempt: state.attempts, waitMs });
  if (waitMs > 0) return { kind: 'stop', stop: await postpone(lane, now + waitMs) };
  await lane.writer.flush();
  return null;
}

function afterFailure(lane: Lane, step: StepPlan, error: string): Outcome {
  if (step.onFail === 'continue') return { kind: 'next' };
  if (step.onFail !== 'stop') {
    const outcome = goBack(lane, step, step.onFail, error);
    if (outcome) return outcome;
  }
  return { kind: 'fail', error: `${step.title}: ${error}` };
}

/**
 * Goes back to an earlier step with a note for it; null when the step has gone back `max_rounds` times already. Resets
 * the counts of the steps in between: an inner loop gets all its rounds again in each round of the outer one.
 */
export function goBack(lane: Lane, step: StepPlan, target: string, note: string): Outcome | null {
  const { memory } = lane.writer;
  const count = (memory.counts?.[step.id] ?? 0) + 1;
  if (count > (step.maxRounds ?? 1)) return null;
  lane.writer.memory = {
    ...memory,
    counts: { ...countsOutside(lane, target, memory.counts ?? {}), [step.id]: count },
    feedback: { ...memory.feedback, [target]: note },
  };
  return { kind: 'goto', target };
}

/** The counts of steps before the target, and of steps after the current one. */
function countsOutside(lane: Lane, target: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  const { nodes } = lane.lanePlan;
  const from = nodes.findIndex((node) => node.id === target);
  const over = new Set(from < 0 ? [] : nodes.slice(from, lane.writer.pos).map(({ id }) => id));
  return Object.fromEntries(Object.entries(counts).filter(([id]) => !over.has(id)));
}
