import type { Sql } from '../../db/contract.js';
import type { Caller } from '../../shared/roles.js';
import { deleteRef } from '../../workspaces/index.js';

/** Where the commit of a push is that waits, or that was refused after it had waited. */
export const PENDING = 'refs/service/pending';

export interface PendingPush {
  readonly workspaceId: string;
  /** The workspace's name now. */
  readonly workspace: string;
  readonly oid: string;
  /** Who pushed. What they may was asked when they did. */
  readonly caller: Caller;
  /** It was refused after it had waited, and stays until somebody acts on it. */
  readonly isRefused: boolean;
}

type PushOf = Pick<PendingPush, 'workspaceId' | 'oid'>;

export async function readPending(sql: Sql, workspaceId: string): Promise<PendingPush | null> {
  const [row] = await sql.query<{ name: string; oid: string; caller: Caller; isRefused: boolean }>({
    name: 'read-pending-push',
    text: `SELECT w.name, p.oid, p.caller, p.refused_at IS NOT NULL AS "isRefused"
      FROM pending_push p JOIN workspace w ON w.id = p.workspace_id WHERE w.id = $1`,
    values: [workspaceId],
  });
  if (!row) return null;
  // A workspace may be renamed while it waits.
  const { name, oid, isRefused } = row;
  return { workspaceId, workspace: name, oid, isRefused, caller: { ...row.caller, workspaces: null } };
}

/** Of two that wait the last wins. */
export async function writePending(
  sql: Sql,
  { workspaceId, oid, caller, reason }: PushOf & { readonly caller: Caller; readonly reason: string },
): Promise<void> {
  await sql.query({
    name: 'write-pending-push',
    text: `INSERT INTO pending_push (workspace_id, oid, caller, reason) VALUES ($1, $2, $3, $4)
      ON CONFLICT (workspace_id) DO UPDATE SET oid = $2, caller = $3, reason = $4, at = now(), refused_at = NULL`,
    values: [workspaceId, oid, JSON.stringify(caller), reason],
  });
}

/** Removes it, and its ref; false when another push is in its place. */
export async function endPending(sql: Sql, { workspaceId, oid }: PushOf): Promise<boolean> {
  const rows = await sql.query('DELETE FROM pending_push WHERE workspace_id = $1 AND oid = $2 RETURNING 1', [
    workspaceId,
    oid,
  ]);
  if (rows.length > 0) await deleteRef(sql, { workspaceId, name: PENDING, expect: oid });
  return rows.length > 0;
}

/** Keeps it as refused, with why; false when another push is in its place. */
export async function markRefused(sql: Sql, { workspaceId, oid }: PushOf, reason: string): Promise<boolean> {
  const rows = await sql.query({
    name: 'refuse-pending-push',
    text: `UPDATE pending_push SET reason = $3, refused_at = coalesce(refused_at, now())
      WHERE workspace_id = $1 AND oid = $2 RETURNING 1`,
    values: [workspaceId, oid, reason],
  });
  return rows.length > 0;
}

/** Has Temporal told again of each push that waits for long: one that lost its workflow would wait for good. Harmless otherwise. */
export async function repeatPending(sql: Sql): Promise<void> {
  await sql.query(
    `INSERT INTO outbox (run_id, kind) SELECT workspace_id, 'apply-push' FROM pending_push p
      WHERE p.refused_at IS NULL AND p.at < now() - interval '15 minutes'
        AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id = p.workspace_id AND o.kind = 'apply-push')`,
  );
}
