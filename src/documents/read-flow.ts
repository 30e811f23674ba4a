import type { Sql } from '../db/contract.js';
import { editedTree } from '../deploys/index.js';
import type { Deps } from '../deps.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { FlowText, Plan } from '../workspace/index.js';
import { branchesOf } from '../workspace/model.js';
import { findWorkspace, livePlan, readLiveTree } from '../workspaces/index.js';
import { type FlowListed, withRuns } from './list-flows.js';

export interface FlowStep {
  readonly n: number;
  readonly id: string;
  readonly title: string;
  readonly agent: string | null;
  readonly subflow: string | null;
  /** The group that it runs in parallel in. */
  readonly group: string | null;
  /** As they are written behind their colons. */
  readonly options: Readonly<Record<string, string>>;
  readonly instruction: string;
  readonly schemas: readonly string[];
  readonly line: number;
}

export interface FlowView extends Omit<FlowListed, 'steps'> {
  readonly sha: string;
  readonly steps: readonly FlowStep[];
  readonly groups: readonly (readonly number[])[];
  readonly revision: string | null;
}

type FlowDeps = Pick<Deps, 'checker'> & { readonly db: Sql };

/** A flow of the live revision with its steps and their settings. */
export async function readFlow(
  deps: FlowDeps,
  caller: Caller,
  input: { readonly workspace: string; readonly flow: string },
): Promise<FlowView> {
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

function stepsOf(plan: Plan, text: FlowText): FlowStep[] {
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
