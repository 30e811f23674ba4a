import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';

const BRANCHES = 'refs/heads/';
export const TAGS = 'refs/tags/';

export function branchRef(branch: string): string {
  return `${BRANCHES}${branch}`;
}

/** The branch's name; null for any other ref. */
export function branchOf(ref: string): string | null {
  return ref.startsWith(BRANCHES) ? ref.slice(BRANCHES.length) : null;
}

/** The commit in the row of a ref other than `main`; null when the ref does not exist. */
export async function readStoredRef(sql: Sql, workspaceId: string, name: string): Promise<string | null> {
  const [row] = await sql.query<{ oid: string }>({
    name: 'read-stored-ref',
    text: 'SELECT oid FROM git_ref WHERE workspace_id = $1 AND name = $2',
    values: [workspaceId, name],
  });
  return row?.oid ?? null;
}

/** A branch's commit. Refuses `not_found`. */
export async function needBranch(sql: Sql, workspaceId: string, branch: string): Promise<string> {
  const oid = await readStoredRef(sql, workspaceId, branchRef(branch));
  if (oid === null) throw notFound('branch');
  return oid;
}
