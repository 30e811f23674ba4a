import { type LivePlan, livePlan } from '../content/index.js';
import { findWorkspace, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** Finds `flows/<name>` or `agents/<name>` in the live revision, or refuses it as missing. */
export async function findTarget(
  sql: Sql,
  caller: Caller,
  { workspace: name, target, lock = 'none' }: { workspace: string; target: string; lock?: 'none' | 'share' },
): Promise<{ readonly workspace: WorkspaceRow; readonly live: LivePlan }> {
  const missing = notFound(target.startsWith('agents/') ? 'agent' : 'flow');
  const workspace = await findWorkspace(sql, caller, name, lock);
  // Postgres cannot take every name as a parameter (NUL, for example).
  const live = /^[\w./-]{1,255}$/.test(target) ? await livePlan(sql, workspace, target) : null;
  if (!live) throw missing;
  return { workspace, live };
}
