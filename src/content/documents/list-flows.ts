import type { FlowList, LastRun } from '../../contract/flows.js';
import type { RunStatus } from '../../contract/runs.js';
import type { FlowSummary, Issue } from '../../format/index.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { readLiveTree } from '../workspaces/live-tree.js';

const flowCursors = keyCursors('flows');

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

export async function withRuns(
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

interface LastRunRow {
  readonly flow: string;
  readonly id: string;
  readonly status: RunStatus;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** The newest run of each, by its flow's name: `agents/<name>` for an agent alone. */
export async function lastRuns(
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
