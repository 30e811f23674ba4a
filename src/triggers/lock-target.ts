import type { Sql } from '../db/contract.js';
import { notFound } from '../shared/refusal.js';
import { type LivePlan, livePlan, lockWorkspace, type WorkspaceRow } from '../workspaces/index.js';

export interface LockedTarget {
  readonly workspace: WorkspaceRow;
  readonly live: LivePlan;
}

/**
 * The flow in the live revision of the workspace with this id, which may have another name by now; locked as a start
 * locks it. Refuses one that is gone.
 */
export async function lockTarget(sql: Sql, workspaceId: string, flow: string): Promise<LockedTarget> {
  const workspace = await lockWorkspace(sql, workspaceId);
  const live = workspace ? await livePlan(sql, workspace, `flows/${flow}`) : null;
  if (!workspace || !live) throw notFound('flow');
  return { workspace, live };
}
