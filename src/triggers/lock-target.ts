import { type LivePlan, livePlan } from '../content/index.js';
import { lockWorkspace, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { notFound } from '../shared/refusal.js';

export interface LockedTarget {
  readonly workspace: WorkspaceRow;
  readonly live: LivePlan;
}

/**
 * The flow in the live revision of the workspace with this id, with the lock of a start. Refuses `not_found` when it no
 * longer exists.
 */
export async function lockTarget(sql: Sql, workspaceId: string, flow: string): Promise<LockedTarget> {
  const workspace = await lockWorkspace(sql, workspaceId);
  const live = workspace ? await livePlan(sql, workspace, `flows/${flow}`) : null;
  if (!workspace || !live) throw notFound('flow');
  return { workspace, live };
}
