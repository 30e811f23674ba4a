import type { StepPlan } from '../../format/model.js';
import { beginStep, type Lane, type Outcome, parkId, type StepState, stepKey, writeStep } from '../lane/lane.js';
import { conditionHolds, scopeOf } from '../lane/scope.js';

export async function startStep(lane: Lane, step: StepPlan): Promise<Outcome | null> {
  const { item } = lane.lanePlan;
  if (isBeforeFrom(lane, step)) return skipStep(lane, step, 'from');
  if (isTakenOver(lane, step)) return { kind: 'next' };
  // The row is created before the condition is read, so that a failing condition has a step to fail.
  const state = beginStep(lane, step, item, 'running');
  if (step.when !== undefined && !conditionHolds(step.when, scopeOf(lane), 'when')) {
    state.status = 'skipped';
    writeStep(lane, state, 'step.skipped', { why: 'when' });
    return { kind: 'next' };
  }
  lane.writer.tries = 1;
  lane.writer.memory = { ...lane.writer.memory, since: lane.deps.clock.now() };
  writeStep(lane, state, 'step.started', { ...(step.agent === undefined ? {} : { agent: step.agent }) });
  if (step.wait?.kind === 'event') openEvent(lane, step, state);
  return null;
}

/**
 * A run that starts at step N skips the steps before it, once: a later step may still go back to them, items included.
 */
export function isBeforeFrom(lane: Lane, step: StepPlan): boolean {
  if (lane.lanePlan.item > 0) return false;
  return step.n < lane.run.fromStep && !lane.steps.has(stepKey(step.id, lane.lanePlan.item));
}

/**
 * A rerun that starts inside a group has copied the branches before it. Once: after going back, a group runs all its
 * branches.
 */
function isTakenOver(lane: Lane, step: StepPlan): boolean {
  const { group, item } = lane.lanePlan;
  if (group === null || item > 0 || step.n >= lane.run.fromStep) return false;
  return (lane.steps.get(stepKey(step.id, 0))?.copied ?? false) && lane.steps.get(stepKey(group.id, 0))?.round === 1;
}

export function skipStep(lane: Lane, step: { readonly id: string }, why: string): Outcome {
  const state = beginStep(lane, step, lane.lanePlan.item, 'skipped');
  writeStep(lane, state, 'step.skipped', { why });
  return { kind: 'next' };
}

/** A `wait: event` step counts as waiting from its start, so that an event before the park is kept. */
function openEvent(lane: Lane, step: StepPlan, state: StepState): void {
  const { wait } = step;
  if (wait?.kind !== 'event') return;
  lane.writer.batch.parks.push({
    id: parkId(lane, state, 'event'),
    step: step.id,
    item: state.item,
    round: state.round,
    kind: 'event',
    spec: { title: step.title, n: step.n },
    need: 1,
    due: wait.timeoutMs === undefined ? null : lane.deps.clock.now() + wait.timeoutMs,
  });
  lane.writer.event('event.waiting', { step: step.id, item: state.item, round: state.round });
}
