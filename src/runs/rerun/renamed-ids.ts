import type { GroupPlan, Plan, StepPlan } from '../../format/index.js';
import { branchesOf } from '../../format/model.js';
import { foldStepId } from '../../format/parse/step-id.js';
import type { EndedStepRow } from './choose-steps.js';

/** Every step and group, each group before its branches. */
export function nodesOf({ nodes }: Plan): (StepPlan | GroupPlan)[] {
  return nodes.flatMap((node) => (node.kind === 'group' ? [node, ...branchesOf(node)] : [node]));
}

/** Maps step ids of a plan from an earlier version to the ids of the same steps in a current plan. */
export function renamedIds(oldPlan: Plan, plan: Plan): ReadonlyMap<string, string> {
  const titles = new Map(nodesOf(oldPlan).map(({ id, title }) => [id, title]));
  return new Map(
    nodesOf(plan).flatMap(({ id, oldId }) => {
      const title = oldId === undefined ? undefined : titles.get(oldId);
      if (oldId === undefined || title === undefined || titles.has(id)) return [];
      // If the old step's title gives another id today, it is another step.
      return foldStepId(title) === id ? [[oldId, id] as const] : [];
    }),
  );
}

/**
 * The row with the ids of the new run. Its lane is renamed too, since lane names contain the ids of the steps that
 * forked.
 */
export function renameRow(row: EndedStepRow, ids: ReadonlyMap<string, string>): EndedStepRow {
  const lane = row.lane.replace(/\/([a-z_][a-z0-9_]*)@/g, (_fork, id: string) => `/${ids.get(id) ?? id}@`);
  return { ...row, id: ids.get(row.id) ?? row.id, lane };
}
