import { deleteRef, liveRuns, readLiveCommit, setRef } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { announceRuns, enqueueOutbox } from '../../engine/index.js';
import type { RefCommand } from '../../git/index.js';
import { audit, findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import type { Caller } from '../../shared/roles.js';
import { requireNewest } from '../receive/propose-commit.js';
import type { PushContext } from '../receive/push-context.js';
import type { Outcome } from '../receive/report.js';

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
async function writePending(
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

/** How many live runs the message to the client names. */
const NAMED = 5;

/**
 * Stores a checked push to `main` while runs are live. `main` stays, so that a clone shows what is live; the report
 * says that `refs/service/pending` moved in its place. A workflow applies the push when the runs have ended. Null when
 * they ended in the meantime: then the push can go live at once.
 */
export async function parkPush(deps: Deps, context: PushContext, command: RefCommand): Promise<Outcome | null> {
  const { remote, pack, say } = context;
  const oid = command.new ?? '';
  await pack.store();
  const parked = await deps.db.transaction(async (sql) => {
    await findWorkspace(sql, remote.caller, remote.name, 'update');
    requireNewest({ gitCommit: await readLiveCommit(sql, remote.id) }, command.old);
    const { count, runs } = await liveRuns(sql, remote.id);
    if (count === 0) return null;
    const [before] = await sql.query<{ oid: string }>('SELECT oid FROM git_ref WHERE workspace_id = $1 AND name = $2', [
      remote.id,
      PENDING,
    ]);
    const reason = `waits for ${countRuns(count)}`;
    await pack.link(sql);
    await setRef(sql, { workspaceId: remote.id, name: PENDING, oid, by: remote.caller.actor });
    await writePending(sql, { workspaceId: remote.id, oid, caller: remote.caller, reason });
    await enqueueOutbox(sql, remote.id, 'apply-push');
    await audit(sql, remote.caller, 'git.push', remote.name, { ref: PENDING, before: command.old, after: oid });
    return { count, runs, before: before?.oid ?? null };
  });
  if (!parked) return null;
  failpoint('push-parked');
  void announceRuns(deps, [remote.id]);
  say(
    `Accepted, and not live yet: it waits for the end of ${countRuns(parked.count)}:`,
    ...runLines(parked),
    `Then it is applied by itself. Until then main stays as it is, and your commit is ${PENDING}.`,
    `To apply it now: POST /api/workspaces/${remote.name}/repo {"action":"deploy","ref":"${PENDING}","force":true}`,
  );
  return { kind: 'ok', instead: { ref: PENDING, old: parked.before } };
}

export function countRuns(count: number): string {
  return count === 1 ? 'a live run' : `${count} live runs`;
}

/** A line for each of the first runs that the push waits for. */
export function runLines({ count, runs }: Awaited<ReturnType<typeof liveRuns>>): readonly string[] {
  const named = runs.slice(0, NAMED).map(({ id, flow, status }) => `  ${flow} ${id} (${status})`);
  const more = count - named.length;
  return more > 0 ? [...named, `  and ${more} more`] : named;
}
