import type { Db } from '../../platform/db/contract.js';
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
export async function readStoredRef(db: Db, workspaceId: string, name: string): Promise<string | null> {
  const row = await db.prisma.gitRef.findFirst({ select: { oid: true }, where: { workspaceId, name } });
  return row?.oid ?? null;
}

/** A branch's commit. Refuses `not_found`. */
export async function needBranch(db: Db, workspaceId: string, branch: string): Promise<string> {
  const oid = await readStoredRef(db, workspaceId, branchRef(branch));
  if (oid === null) throw notFound('branch');
  return oid;
}
