import type { Json } from '../../shared/json.js';
import { StepFailure } from '../errors.js';
import { stepKey } from '../lane/lane.js';
import { evaluateOrFail, scopeOf } from '../lane/scope.js';
import { followFork, forkStop, openFork } from './fork.js';
import type { Doer } from './kinds.js';

const MAX_ITEMS = 1_000;

/** Runs the step once an item, each in a lane of its own. `data` is the list in the items' order. */
export const runEach: Doer = async (lane, step, state) => {
  const { each } = step;
  if (!each) throw new Error(`step ${step.id} has no each`);
  const list = evaluateOrFail(each.list, scopeOf(lane), 'each');
  if (!Array.isArray(list)) throw new StepFailure(`each: ${each.list} is no list`);
  if (list.length > MAX_ITEMS) throw new StepFailure(`each: ${list.length} items are more than ${MAX_ITEMS}`);
  const stop = { kind: 'stop', stop: forkStop(lane, step, state.round, list.length, each.parallel) } as const;
  if (list.length === 0) return { kind: 'done', result: '', data: [] };
  if (lane.writer.state !== 'forked') {
    await openFork(lane, step.id, state.round, list.length);
    return stop;
  }
  const joined = await followFork(lane, step.id, state.round, 'all');
  if (joined.kind === 'open') return stop;
  if (joined.kind === 'failed') throw new StepFailure(joined.error);
  const items = list.map((_entry, index) => lane.steps.get(stepKey(step.id, index + 1)));
  const data = items.map((item): Json => (item?.status === 'completed' ? (item.data ?? item.result) : null));
  const result = items.map((item) => (item?.status === 'completed' ? (item.result ?? '') : '')).join('\n\n');
  return { kind: 'done', result, data };
};
