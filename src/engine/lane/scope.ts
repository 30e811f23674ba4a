import { evaluateCel } from '../../format/index.js';
import { leavesOf } from '../../format/model.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { toUsd } from '../../shared/money.js';
import { StepFailure } from '../errors.js';
import { type Lane, type StepState, shownWork, stepKey } from './lane.js';

/** The roots of conditions and text: `input`, `steps`, `trigger`, `run`, and the item of an each. */
export function scopeOf(lane: Lane, extra: Readonly<Record<string, Json>> = {}): Record<string, Json> {
  const steps: Record<string, Json> = {};
  for (const node of lane.plan.nodes) {
    const ids = node.kind === 'group' ? [node.id, ...node.branches.map((branch) => branch.id)] : [node.id];
    for (const id of ids) steps[id] = stepScope(lane.steps.get(stepKey(id, 0)));
  }
  const scope = {
    input: lane.run.input ?? null,
    steps,
    trigger: lane.run.trigger,
    run: {
      id: lane.run.id,
      flow: lane.run.flow,
      startedAt: lane.run.startedAt ?? '',
      tags: lane.run.tags,
      startedBy: lane.run.startedBy ?? '',
    },
  };
  return { ...scope, ...itemScope(lane, scope), ...extra };
}

function itemScope(lane: Lane, scope: Record<string, Json>): Record<string, Json> {
  const { item, nodes } = lane.lanePlan;
  const id = nodes[0]?.id;
  if (item === 0 || id === undefined) return {};
  const each = leavesOf(lane.plan).find((step) => step.id === id)?.each;
  if (!each) return {};
  if (lane.item !== null) return { [each.as]: lane.item.value };
  const list = evaluateOrFail(each.list, scope, 'each');
  return { [each.as]: (Array.isArray(list) ? (list[item - 1] as Json) : null) ?? null };
}

export function stepScope(step: StepState | undefined): Json {
  if (!step) return { status: 'pending' };
  const { result, data } = shownWork(step);
  return {
    status: step.status,
    ...(result === null ? {} : { result }),
    ...(data === undefined ? {} : { data }),
    ...(step.eventPayload === undefined ? {} : { event: step.eventPayload }),
    ...(step.decision === undefined ? {} : { decision: step.decision }),
    ...(step.items === undefined ? {} : { items: step.items }),
    costUsd: toUsd(step.costNano),
  };
}

/** Evaluates a condition; a missing path or a wrong type fails the step with a sentence that names it. */
export function evaluateOrFail(source: string, scope: Readonly<Record<string, Json>>, option: string): Json {
  const answer = evaluateCel(source, scope);
  if (!answer.ok) throw new StepFailure(`${option}: ${answer.message}`);
  return answer.value;
}

export function conditionHolds(source: string, scope: Readonly<Record<string, Json>>, option: string): boolean {
  const value = evaluateOrFail(source, scope, option);
  if (typeof value !== 'boolean') throw new StepFailure(`${option}: ${source} is ${toJson(value)}, not true or false`);
  return value;
}
