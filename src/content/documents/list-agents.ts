import type { AgentBody, AgentList } from '../../contract/flows.js';
import type { AgentPlan, FlowSummary } from '../../format/index.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { readLiveTree } from '../workspaces/live-tree.js';
import { lastRuns } from './list-flows.js';

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
