import type { Sql } from '../../platform/db/contract.js';

export interface LiveRun {
  readonly id: string;
  readonly flow: string;
  readonly status: string;
}

/** How many runs an answer names; the count is exact. */
const NAMED = 50;

/**
 * The live runs that a deploy or a delete would disturb, without evals and child runs. Exact under the workspace's row
 * lock, since starting a run takes that row's share lock first.
 */
export async function liveRuns(sql: Sql, workspaceId: string): Promise<{ count: number; runs: readonly LiveRun[] }> {
  const rows = await sql.query<LiveRun & { readonly count: bigint }>({
    name: 'live-runs',
    text: `SELECT id, flow, status, count(*) OVER () AS count FROM run
      WHERE workspace_id = $1 AND finished_at IS NULL AND mode = 'normal' AND parent_id IS NULL
      ORDER BY created_at, id LIMIT ${NAMED}`,
    values: [workspaceId],
  });
  return { count: Number(rows[0]?.count ?? 0n), runs: rows.map(({ id, flow, status }) => ({ id, flow, status })) };
}
