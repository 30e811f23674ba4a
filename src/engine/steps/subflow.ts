import { fillWith, inputFaults } from '../../format/index.js';
import type { StepPlan } from '../../format/model.js';
import { newId } from '../../shared/ids.js';
import type { Json } from '../../shared/json.js';
import { toNano } from '../../shared/money.js';
import { TOO_LONG } from '../clocks/end-overdue.js';
import { StepFailure } from '../errors.js';
import type { Lane, StepState } from '../lane/lane.js';
import { scopeOf } from '../lane/scope.js';
import { capStep, childResult, countChild, pinnedPlan, readChildRow, writeChild } from './child-run.js';
import type { Doer, Done } from './kinds.js';

/**
 * A child run with its own record: its cost counts as the step's. Its calls are limited by its own flow's budget and by
 * what this run and those above it have left: see readPools.
 */
export const runSubflow: Doer = async (lane, step, state) => {
  const { child } = lane.writer.memory;
  return child === undefined ? startChild(lane, step, state) : readChild(lane, child, state);
};

async function startChild(lane: Lane, step: StepPlan, state: StepState): Promise<Done> {
  const pinned = await pinnedPlan(lane, `flows/${step.subflow}`);
  if (!pinned) throw new StepFailure(`there is no flow ${step.subflow} in the revision of this run`);
  const input = childInput(lane, step);
  const faults = inputFaults(pinned.plan, input);
  if (faults.length > 0) throw new StepFailure(`the input of ${step.subflow} does not fit: ${faults.join('; ')}`);
  if (step.budgetUsd !== undefined) await capStep(lane, step.id, toNano(step.budgetUsd));
  const id = newId();
  await writeChild(lane, { id, pinned, input, step: step.id, limit: step.timeoutMs ?? null });
  lane.writer.memory = { ...lane.writer.memory, child: id };
  lane.writer.state = 'child';
  lane.writer.event('step.subflow', { step: step.id, item: state.item, round: state.round, runId: id });
  await lane.writer.flush();
  return { kind: 'stop', stop: { kind: 'subflow', runId: id } };
}

function childInput(lane: Lane, step: StepPlan): Json {
  return step.with === undefined ? (lane.run.input ?? null) : fillWith(step.with, scopeOf(lane));
}

async function readChild(lane: Lane, child: string, state: StepState): Promise<Done> {
  const row = await readChildRow(lane, child);
  if (!row) throw new StepFailure('the run of the subflow is gone');
  if (!row.ended) return { kind: 'stop', stop: { kind: 'subflow', runId: child } };
  countChild(lane, state, child, row.spent);
  if (row.status === 'failed' && row.overdue) throw new StepFailure(TOO_LONG, 'timeout');
  if (row.status === 'failed') throw new StepFailure(`the subflow failed: ${row.error ?? 'without an error message'}`);
  return { kind: 'done', ...(await childResult(lane, child, row.planId)) };
}
