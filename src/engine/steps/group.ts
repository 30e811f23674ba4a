import type { GroupPlan } from '../../format/model.js';
import { StepFailure } from '../errors.js';
import { beginStep, type Lane, type Outcome, type StepState, stepKey, writeStep } from '../lane/lane.js';
import { conditionHolds, scopeOf } from '../lane/scope.js';
import { followFork, forkStop, openFork } from './fork.js';
import { isBeforeFrom, skipStep } from './start-step.js';

/** A parallel group: one lane for each branch. The group's own row has only a status. */
export async function runGroup(lane: Lane, group: GroupPlan): Promise<Outcome> {
  return lane.writer.phase === 'start' ? startGroup(lane, group) : joinGroup(lane, group);
}

async function startGroup(lane: Lane, group: GroupPlan): Promise<Outcome> {
  if (group.branches.every((branch) => isBeforeFrom(lane, branch))) return skipGroup(lane, group, 'from');
  const state = beginStep(lane, group, 0, 'running');
  try {
    if (group.when !== undefined && !conditionHolds(group.when, scopeOf(lane), 'when')) {
      state.status = 'skipped';
      writeStep(lane, state, 'step.skipped', { why: 'when', group: true });
      for (const branch of group.branches) skipStep(lane, branch, 'when');
      return { kind: 'next' };
    }
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return failGroup(lane, state, `${group.title}: ${error.message}`);
  }
  writeStep(lane, state, 'step.started', { group: true });
  await openFork(
    lane,
    group.id,
    state.round,
    group.branches.map(() => null),
  );
  return { kind: 'stop', stop: forkStop(lane, group, state.round, group.branches.length) };
}

function skipGroup(lane: Lane, group: GroupPlan, why: string): Outcome {
  skipStep(lane, group, why);
  for (const branch of group.branches) skipStep(lane, branch, why);
  return { kind: 'next' };
}

async function joinGroup(lane: Lane, group: GroupPlan): Promise<Outcome> {
  const state = lane.steps.get(stepKey(group.id, 0));
  if (!state) throw new Error(`group ${group.id} has no row`);
  const joined = await followFork(lane, group.id, state.round, group.join);
  if (joined.kind === 'open') return { kind: 'stop', stop: forkStop(lane, group, state.round, group.branches.length) };
  if (joined.kind === 'failed') return failGroup(lane, state, joined.error);
  state.status = 'completed';
  writeStep(lane, state, 'step.completed', { group: true });
  return { kind: 'next' };
}

function failGroup(lane: Lane, state: StepState, error: string): Outcome {
  state.status = 'failed';
  state.error = error;
  writeStep(lane, state, 'step.failed', { group: true, error });
  return { kind: 'fail', error };
}
