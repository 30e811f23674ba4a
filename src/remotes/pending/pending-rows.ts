import { deleteRef } from '../../content/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Caller } from '../../shared/roles.js';

/** The ref of a pending push: one that waits, or that was refused after it had waited. */
export const PENDING = 'refs/service/pending';

export interface PendingPush {
  readonly workspaceId: string;
  /** The workspace's name now. */
  readonly workspace: string;
  readonly oid: string;
  /** The pusher. Permissions were checked at the push. */
  readonly caller: Caller;
  /** It was refused after it had waited, and stays until a member acts on it. */
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
  // The workspace may have been renamed since, so the scope of the pusher is not applied by name.
  const { name, oid, isRefused } = row;
  return { workspaceId, workspace: name, oid, isRefused, caller: { ...row.caller, workspaces: null } };
}

/** Replaces an earlier pending push. */
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

/** Removes the pending push and its ref; false when another push has replaced it. */
export async function endPending(sql: Sql, { workspaceId, oid }: PushOf): Promise<boolean> {
  const rows = await sql.query('DELETE FROM pending_push WHERE workspace_id = $1 AND oid = $2 RETURNING 1', [
    workspaceId,
    oid,
  ]);
  if (rows.length > 0) await deleteRef(sql, { workspaceId, name: PENDING, expect: oid });
  return rows.length > 0;
}

/** Marks the pending push as refused, with the reason; false when another push has replaced it. */
export async function markRefused(sql: Sql, { workspaceId, oid }: PushOf, reason: string): Promise<boolean> {
  const rows = await sql.query({
    name: 'refuse-pending-push',
    text: `UPDATE pending_push SET reason = $3, refused_at = coalesce(refused_at, now())
      WHERE workspace_id = $1 AND oid = $2 RETURNING 1`,
    values: [workspaceId, oid, reason],
  });
  return rows.length > 0;
}

/** Enqueues the workflow of each push that has waited long, in case its workflow was lost. Harmless otherwise. */
export async function repeatPending(sql: Sql): Promise<void> {
  await sql.query(
    `INSERT INTO outbox (run_id, kind) SELECT workspace_id, 'apply-push' FROM pending_push p
      WHERE p.refused_at IS NULL AND p.at < now() - interval '15 minutes'
        AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id = p.workspace_id AND o.kind = 'apply-push')`,
  );
}
