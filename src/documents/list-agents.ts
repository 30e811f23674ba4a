import type { Sql } from '../db/contract.js';
import { keyCursors, type PageInput } from '../shared/cursor.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { AgentPlan, FlowSummary } from '../workspace/index.js';
import { findWorkspace, readLiveTree } from '../workspaces/index.js';
import { type LastRun, lastRuns } from './list-flows.js';

const cursors = keyCursors('agents');

export interface AgentListed {
  readonly name: string;
  readonly path: string;
  readonly description: string;
  readonly model: string | null;
  /** As its file grants them, and the built-ins that are on. */
  readonly tools: readonly string[];
  readonly secrets: readonly string[];
  /** The flows of which it does a step. */
  readonly flows: readonly string[];
  /** Its newest run alone. */
  readonly lastRun: LastRun | null;
}

/** The agents of the live revision, by name. */
export async function listAgents(
  deps: { readonly db: Sql },
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<{ readonly agents: readonly AgentListed[]; readonly next: string | null }> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const { index } = await readLiveTree(deps.db, id);
  const { page, next } = cursors.pageOfAll(index?.agents ?? [], input, ({ name }) => name);
  return { agents: await describe(deps.db, id, { page, flows: index?.flows ?? [] }), next };
}

/** One agent of the live revision. */
export async function readAgent(
  sql: Sql,
  caller: Caller,
  { workspace, name }: { readonly workspace: string; readonly name: string },
): Promise<AgentListed> {
  const { id } = await findWorkspace(sql, caller, workspace);
  const { index } = await readLiveTree(sql, id);
  const page = (index?.agents ?? []).filter((agent) => agent.name === name);
  const [agent] = await describe(sql, id, { page, flows: index?.flows ?? [] });
  if (agent === undefined) throw notFound('agent');
  return agent;
}

interface Described {
  readonly page: readonly Pick<AgentListed, 'name' | 'path' | 'description'>[];
  readonly flows: readonly Pick<FlowSummary, 'name' | 'agents'>[];
}

async function describe(sql: Sql, workspaceId: string, { page, flows: all }: Described): Promise<AgentListed[]> {
  const names = page.map(({ name }) => name);
  const [plans, runs] = await Promise.all([
    plansOf(sql, workspaceId, names),
    lastRuns(
      sql,
      workspaceId,
      names.map((name) => `agents/${name}`),
    ),
  ]);
  return page.map(({ name, path, description }): AgentListed => {
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
