import type { Sql } from '../db/contract.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace, type LivePlan, livePlan, type WorkspaceRow } from '../workspaces/index.js';

/** Looks for what is to be started in the live revision: `flows/<name>` or `agents/<name>`. Refuses a missing one. */
export async function findTarget(
  sql: Sql,
  caller: Caller,
  { workspace: name, target, lock = 'none' }: { workspace: string; target: string; lock?: 'none' | 'share' },
): Promise<{ readonly workspace: WorkspaceRow; readonly live: LivePlan }> {
  const missing = notFound(target.startsWith('agents/') ? 'agent' : 'flow');
  const workspace = await findWorkspace(sql, caller, name, lock);
  // The database cannot even be asked for some names: NUL among them.
  const live = /^[\w./-]{1,255}$/.test(target) ? await livePlan(sql, workspace, target) : null;
  if (!live) throw missing;
  return { workspace, live };
}
