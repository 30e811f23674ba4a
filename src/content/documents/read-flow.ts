import type { FlowBody } from '../../contract/flows.js';
import type { Deps } from '../../deps.js';
import type { FlowText, Plan } from '../../format/index.js';
import { branchesOf } from '../../format/model.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { editedTree } from '../deploys/edit-tree.js';
import { readLiveTree } from '../workspaces/live-tree.js';
import { livePlan } from '../workspaces/plans.js';
import { withRuns } from './list-flows.js';

type FlowDeps = Pick<Deps, 'checker'> & { readonly db: Sql };

/** A flow of the live revision with its steps and their settings. */
export async function readFlow(
  deps: FlowDeps,
  caller: Caller,
  input: { readonly workspace: string; readonly flow: string },
): Promise<FlowBody> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const live = await readLiveTree(deps.db, workspace.id);
  const summary = live.index?.flows.find(({ name }) => name === input.flow);
  const target = await livePlan(deps.db, { ...workspace, liveSeq: live.seq }, `flows/${input.flow}`);
  if (!summary || !target) throw notFound('flow');
  const warnings = live.index?.warnings ?? [];
  const [listed] = await withRuns(deps.db, workspace.id, { flows: [summary], warnings });
  const { tree, read } = editedTree(deps.db, workspace.id, live);
  const text = await deps.checker.work('read-flow', { text: (await read(summary.path)) ?? '' });
  if (!listed || !text) throw notFound('flow');
  return {
    ...listed,
    sha: tree.get(summary.path)?.sha ?? '',
    steps: stepsOf(target.plan, text),
    groups: text.groups,
    revision: live.revision,
  };
}

function stepsOf(plan: Plan, text: FlowText): FlowBody['steps'] {
  return plan.nodes.flatMap((node) =>
    branchesOf(node).map((step) => {
      const said = text.steps[step.n - 1];
      return {
        n: step.n,
        id: step.id,
        title: step.title,
        agent: step.agent ?? null,
        subflow: step.subflow ?? null,
        group: node.kind === 'group' ? node.id : null,
        options: said?.options ?? {},
        instruction: said?.instruction ?? '',
        schemas: said?.schemas ?? [],
        line: said?.line ?? 1,
      };
    }),
  );
}
