import type { AgentBody, AgentList, FlowBody, FlowList, LastRun } from '../../contract/flows.js';
import type { RunStatus } from '../../contract/runs.js';
import type { Deps } from '../../deps.js';
import type { AgentPlan, FlowSummary, FlowText, Issue, Plan } from '../../format/index.js';
import { branchesOf } from '../../format/model.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { editedTree } from '../deploys/edit-source.js';
import { readLiveTree } from '../workspaces/live-tree.js';
import { livePlan } from '../workspaces/plans.js';

const flowCursors = keyCursors('flows');

const agentCursors = keyCursors('agents');

/** The agents of the live revision, by name. */
export async function listAgents(
  deps: { readonly db: Sql },
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<AgentList> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const { index } = await readLiveTree(deps.db, id);
  const { page, next } = agentCursors.pageOfAll(index?.agents ?? [], input, ({ name }) => name);
  return { agents: await describe(deps.db, id, { page, flows: index?.flows ?? [] }), next };
}

/** One agent of the live revision. */
export async function readAgent(
  sql: Sql,
  caller: Caller,
  { workspace, name }: { readonly workspace: string; readonly name: string },
): Promise<AgentBody> {
  const { id } = await findWorkspace(sql, caller, workspace);
  const { index } = await readLiveTree(sql, id);
  const page = (index?.agents ?? []).filter((agent) => agent.name === name);
  const [agent] = await describe(sql, id, { page, flows: index?.flows ?? [] });
  if (agent === undefined) throw notFound('agent');
  return agent;
}

interface Described {
  readonly page: readonly Pick<AgentBody, 'name' | 'path' | 'description'>[];
  readonly flows: readonly Pick<FlowSummary, 'name' | 'agents'>[];
}

async function describe(sql: Sql, workspaceId: string, { page, flows: all }: Described): Promise<AgentBody[]> {
  const names = page.map(({ name }) => name);
  const [plans, runs] = await Promise.all([
    plansOf(sql, workspaceId, names),
    lastRuns(
      sql,
      workspaceId,
      names.map((name) => `agents/${name}`),
    ),
  ]);
  return page.map(({ name, path, description }): AgentBody => {
    const plan = plans.get(name);
    const flows = all.filter((flow) => flow.agents.includes(name));
    return {
      name,
      path,
      description,
      model: plan?.model ?? null,
      tools: [...(plan?.builtins ?? []), ...(plan?.tools ?? []).map((tool) => tool.name)],
      secrets: plan?.secrets ?? [],
      flows: flows.map((flow) => flow.name),
      lastRun: runs.get(`agents/${name}`) ?? null,
    };
  });
}

async function plansOf(sql: Sql, workspaceId: string, names: readonly string[]): Promise<Map<string, AgentPlan>> {
  const rows = await sql.query<{ name: string; agent: AgentPlan | null }>({
    name: 'live-agents',
    text: `SELECT n.name, p.body->'agents'->n.name AS agent FROM unnest($2::text[]) n (name)
        JOIN workspace w ON w.id = $1 JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
        JOIN plan p ON p.workspace_id = w.id AND p.id = plans_at(r.workspace_id, r.seq, library_of(w.tenant_id), r.plans)->>('agents/' || n.name)`,
    values: [workspaceId, names],
  });
  return new Map(rows.flatMap(({ name, agent }) => (agent ? [[name, agent] as const] : [])));
}

/** The flows of the live revision by name, each with its newest run that is not a subflow. */
export async function listFlows(
  deps: { readonly db: Sql },
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<FlowList> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const { index } = await readLiveTree(deps.db, id);
  const { page, next } = flowCursors.pageOfAll(index?.flows ?? [], input, ({ name }) => name);
  return { flows: await withRuns(deps.db, id, { flows: page, warnings: index?.warnings ?? [] }), next };
}

async function withRuns(
  sql: Sql,
  workspaceId: string,
  { flows, warnings }: { readonly flows: readonly FlowSummary[]; readonly warnings: readonly Issue[] },
): Promise<FlowList['flows']> {
  const runs = await lastRuns(
    sql,
    workspaceId,
    flows.map(({ name }) => name),
  );
  return flows.map(({ triggers, ...flow }) => ({
    ...flow,
    trigger: triggers,
    lastRun: runs.get(flow.name) ?? null,
    issues: warnings.filter(({ path }) => path === flow.path),
  }));
}

interface LastRunRow extends Pick<TableRow<'Run'>, 'flow' | 'id' | 'createdAt' | 'finishedAt'> {
  readonly status: RunStatus;
}

/** The newest run of each, by its flow's name: `agents/<name>` for an agent alone. */
async function lastRuns(
  sql: Sql,
  workspaceId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, LastRun>> {
  const rows = await sql.query<LastRunRow>({
    name: 'last-runs',
    text: `SELECT n.flow, r.id, r.status, r.created_at AS "createdAt", r.finished_at AS "finishedAt"
      FROM unnest($2::text[]) n (flow) CROSS JOIN LATERAL (
        SELECT id, status, created_at, finished_at FROM run
        WHERE workspace_id = $1 AND flow = n.flow AND mode = 'normal' AND parent_id IS NULL
        ORDER BY created_at DESC, id DESC LIMIT 1) r`,
    values: [workspaceId, names],
  });
  return new Map(
    rows.map(({ flow, id, status, createdAt, finishedAt }) => [
      flow,
      { id, status, createdAt: createdAt.toISOString(), finishedAt: finishedAt?.toISOString() ?? null },
    ]),
  );
}

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
      const source = text.steps[step.n - 1];
      return {
        n: step.n,
        id: step.id,
        title: step.title,
        agent: step.agent ?? null,
        subflow: step.subflow ?? null,
        group: node.kind === 'group' ? node.id : null,
        options: source?.options ?? {},
        instruction: source?.instruction ?? '',
        schemas: source?.schemas ?? [],
        line: source?.line ?? 1,
      };
    }),
  );
}
