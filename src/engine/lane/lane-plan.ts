import type { GroupPlan, Plan, PlanNode } from '../../format/model.js';

/** What a lane executes: the whole flow, one branch of a group, or one item of an each. */
export interface LanePlan {
  readonly nodes: readonly PlanNode[];
  /** 0 outside an each, else the item's number from 1. */
  readonly item: number;
  readonly group: GroupPlan | null;
}

/** A lane's name is its path: `main`, then `/<node>@<round>.<branch or item, from 1>` for each fork. */
const SEGMENT = /^([a-z_][a-z0-9_]*)@(\d+)\.(\d+)$/;

export function forkName(lane: string, node: string, round: number): string {
  return `${lane}/${node}@${round}`;
}

export function lanePlanOf(plan: Plan, lane: string): LanePlan {
  let at: LanePlan = { nodes: plan.nodes, item: 0, group: null };
  for (const segment of lane.split('/').slice(1)) {
    const match = SEGMENT.exec(segment);
    const node = at.nodes.find((one) => one.id === match?.[1]);
    if (!match || !node) throw new Error(`lane ${lane} names no place in the plan`);
    at = nestedPlan(node, Number(match[3]), at.group);
  }
  return at;
}

function nestedPlan(node: PlanNode, number: number, group: GroupPlan | null): LanePlan {
  if (node.kind === 'step') {
    const { each: _once, when: _read, ...step } = node;
    // Only the step as a whole goes back; an item completes, ends as null, or fails.
    const onFail = node.onFail === 'continue' ? 'continue' : 'stop';
    return { nodes: [{ ...step, onFail }], item: number, group };
  }
  const branch = node.branches[number - 1];
  if (!branch) throw new Error(`group ${node.id} has no branch ${number}`);
  return { nodes: [branch], item: 0, group: node };
}
