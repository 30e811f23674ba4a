import { livePlan, loadPlan, pinnedPlan, storePlan } from '../../content/index.js';
import type { Plan, StepPlan } from '../../format/index.js';
import { leavesOf } from '../../format/model.js';
import type { WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { checkEnabled, checkInput } from '../start-run.js';
import type { OldRun, RerunInput } from './rerun-run.js';

interface Asked {
  readonly workspace: WorkspaceRow;
  readonly old: OldRun;
  readonly input: RerunInput;
}

export interface RerunPlan {
  readonly plan: Plan;
  readonly planId: string;
  readonly revision: string;
  readonly librarySeq: number;
  /** The plan of the old run; steps match by their ids. */
  readonly oldPlan: Plan;
}

/** The plan of the new run: the old run's or the live one, with another agent for step N when the caller names one. */
export async function planOfRerun(sql: Sql, { workspace, old, input }: Asked): Promise<RerunPlan> {
  const oldPlan = await loadPlan({ db: sql }, workspace.id, old.planId);
  const target = old.flow.startsWith('agents/') ? old.flow : `flows/${old.flow}`;
  const live = await livePlan(sql, workspace, target);
  // A disabled flow cannot run in any revision.
  if (live) checkEnabled(live.plan);
  if (input.current && !live) {
    throw new Refusal(
      'conflict',
      `${old.flow} is no longer in this workspace: leave out with to run the revision of this run`,
    );
  }
  const base =
    input.current && live
      ? live
      : { plan: oldPlan, planId: old.planId, revision: old.revision, librarySeq: old.librarySeq };
  if (input.current) checkInput(base.plan, old.input);
  const step = leavesOf(base.plan)[input.step - 1];
  if (!step) {
    throw new Refusal(
      'refused',
      `step: ${old.flow} has ${base.plan.steps} steps, so it cannot begin at step ${input.step}`,
    );
  }
  if (input.agent === undefined || input.agent === step.agent) return { ...base, oldPlan };
  const plan = await withAgent(sql, { workspaceId: workspace.id, ...base }, step, input.agent);
  return { ...base, plan, planId: await storePlan(sql, workspace.id, plan), oldPlan };
}

async function withAgent(
  sql: Sql,
  at: { readonly workspaceId: string; readonly revision: string; readonly librarySeq: number; readonly plan: Plan },
  step: StepPlan,
  agent: string,
): Promise<Plan> {
  if (step.agent === undefined) {
    throw new Refusal('refused', `agent: step ${step.n} (${step.title}) has no agent that could be replaced`);
  }
  const other = await pinnedPlan(sql, at, `agents/${agent}`);
  if (!other) throw new Refusal('refused', `agent: there is no agent ${agent} in the revision of the rerun`);
  const swap = (one: StepPlan): StepPlan => (one.n === step.n ? { ...one, agent } : one);
  return {
    ...at.plan,
    nodes: at.plan.nodes.map((node) =>
      node.kind === 'group' ? { ...node, branches: node.branches.map(swap) } : swap(node),
    ),
    agents: { ...other.plan.agents, ...at.plan.agents },
  };
}
