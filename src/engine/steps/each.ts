import type { StepPlan } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import { StepFailure } from '../errors.js';
import { type Lane, type StepState, stepKey } from '../lane/lane.js';
import { evaluateOrFail, scopeOf } from '../lane/scope.js';
import { followFork, forkStop, lanesOf, openFork } from './fork.js';
import type { Doer, Done } from './kinds.js';

const MAX_ITEMS = 1_000;
/** Maximum length of an item's error in what later steps read, since each of them may read a thousand items. */
const LONGEST_ERROR = 500;

/** Runs the step once for each item, each in its own lane. `data` is the list in the items' order. */
export const runEach: Doer = async (lane, step, state) =>
  lane.writer.state === 'forked' ? joinItems(lane, step, state) : forkItems(lane, step, state);

/** Reads the list once: each lane stores its item, whatever happens to the source of the list. */
async function forkItems(lane: Lane, step: StepPlan, state: StepState): Promise<Done> {
  const { each } = step;
  if (!each) throw new Error(`step ${step.id} has no each`);
  const list = evaluateOrFail(each.list, scopeOf(lane), 'each');
  if (!Array.isArray(list)) throw new StepFailure(`each: ${each.list} is not a list`);
  if (list.length > MAX_ITEMS) throw new StepFailure(`each: ${list.length} items are more than ${MAX_ITEMS}`);
  if (list.length === 0) {
    state.items = [];
    return { kind: 'done', result: '', data: [] };
  }
  const items = list.map((value: Json) => ({ value }));
  await openFork(lane, step.id, state.round, items);
  return { kind: 'stop', stop: forkStop(lane, step, state.round, list.length, each.parallel) };
}

async function joinItems(lane: Lane, step: StepPlan, state: StepState): Promise<Done> {
  const count = lanesOf(lane, step.id, state.round);
  const joined = await followFork(lane, step.id, state.round, 'all');
  if (joined.kind === 'open') {
    return { kind: 'stop', stop: forkStop(lane, step, state.round, count, step.each?.parallel) };
  }
  const items = Array.from({ length: count }, (_, index) => lane.steps.get(stepKey(step.id, index + 1)));
  state.items = items.map(itemEnd);
  if (joined.kind === 'failed') throw new StepFailure(joined.error);
  const data = items.map((item): Json => (item?.status === 'completed' ? (item.data ?? item.result) : null));
  const result = items.map((item) => (item?.status === 'completed' ? (item.result ?? '') : '')).join('\n\n');
  return { kind: 'done', result, data };
}

/** A result in `data` that is null may be an item that failed: `steps.<id>.items[i]` has its status and error. */
function itemEnd(item: StepState | undefined): Json {
  if (item === undefined) return { status: 'failed', error: 'the item ended before its step began' };
  const { status, error } = item;
  return { status, ...(error === null ? {} : { error: error.slice(0, LONGEST_ERROR) }) };
}
