import type { GroupPlan, Plan, StepPlan } from '../../format/index.js';
import { branchesOf } from '../../format/model.js';
import { foldStepId } from '../../format/parse/step-id.js';
import type { EndedStepRow } from './choose-steps.js';

/** Every step and group, each group before its branches. */
export function nodesOf({ nodes }: Plan): (StepPlan | GroupPlan)[] {
  return nodes.flatMap((node) => (node.kind === 'group' ? [node, ...branchesOf(node)] : [node]));
}

/** Ids of steps in a plan of an earlier version, with those that the same steps have in a plan of today. */
export function renamedIds(oldPlan: Plan, plan: Plan): ReadonlyMap<string, string> {
  const titles = new Map(nodesOf(oldPlan).map(({ id, title }) => [id, title]));
  return new Map(
    nodesOf(plan).flatMap(({ id, oldId }) => {
      const title = oldId === undefined ? undefined : titles.get(oldId);
      if (oldId === undefined || title === undefined || titles.has(id)) return [];
      // An old step whose title gives another id today is another step.
      return foldStepId(title) === id ? [[oldId, id] as const] : [];
    }),
  );
}

/** A row as the new run has it: its lane names the steps that it was forked at, too. */
export function renameRow(row: EndedStepRow, ids: ReadonlyMap<string, string>): EndedStepRow {
  const lane = row.lane.replace(/\/([a-z_][a-z0-9_]*)@/g, (_fork, id: string) => `/${ids.get(id) ?? id}@`);
  return { ...row, id: ids.get(row.id) ?? row.id, lane };
}
