import { audit } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { removeRepository } from '../git/index.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from './find-workspace.js';
import { liveRuns } from './live-runs.js';
import { RUN_TABLES } from './run-tables.js';

export interface DeletedWorkspace {
  readonly ok: true;
  readonly name: string;
  /** Runs that were live, and are stopped by this. */
  readonly stopped: number;
}

/** What hangs on a run, and what on the workspace; usage and audit are the account's, and stay. */
const OF_RUN = [...RUN_TABLES, 'outbox'];
const OF_WORKSPACE = [
  'slot',
  'slot_lane',
  'tool_test',
  'firing',
  'run',
  'eval_run',
  'change',
  'memory_file',
  'storage_entry',
  'revision',
  'plan_set',
  'plan',
  'blob',
  'secret',
  'hook_token',
  'delivery',
  'delivery_key',
  'burst',
  'raised_event',
];

/**
 * Deletes a workspace and all that is in it. Over live runs only with `force`: then their rows go, which stops what
 * works on them within a second, and Temporal is told by the outbox.
 */
export async function deleteWorkspace(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly force: boolean },
): Promise<DeletedWorkspace> {
  const deleted = await deps.db.transaction(async (sql) => {
    const { id, name } = await findWorkspace(sql, caller, input.workspace, 'update');
    const previews = await sql.query<{ id: string }>('SELECT id FROM workspace WHERE preview_of = $1 FOR UPDATE', [id]);
    const ids = [id, ...previews.map((preview) => preview.id)];
    const stopped = await countLive(sql, ids, input.force);
    const orphans = await deleteRows(sql, ids);
    await audit(sql, caller, 'workspace.delete', name, { stopped });
    return { ids, name, stopped, orphans };
  });
  for (const id of deleted.ids) {
    await removeRepository(deps.config.dataDir, id).catch((error: unknown) =>
      deps.log.warn({ workspaceId: id, error: errorMessage(error) }, 'a repository could not be removed'),
    );
  }
  await freeBlobs(deps, deleted.orphans);
  return { ok: true, name: deleted.name, stopped: deleted.stopped };
}

/** How many runs are live in the workspace and its previews. Refuses `conflict` when there are some, unless forced. */
async function countLive(sql: Sql, ids: readonly string[], force: boolean): Promise<number> {
  let total = 0;
  for (const id of ids) {
    const { count, runs } = await liveRuns(sql, id);
    total += count;
    if (count > 0 && !force) {
      const what = count === 1 ? 'a run is live' : `${count} runs are live`;
      throw new Refusal('conflict', `${what}; stop them first, or add ?force=true`, {
        code: 'workspace/live-runs',
        live: count,
        runs,
      });
    }
  }
  return total;
}

/** Answers the produced files' blobs that nothing refers to any more. */
async function deleteRows(sql: Sql, ids: readonly string[]): Promise<readonly string[]> {
  const open = await lockLive(sql, ids);
  // What was called and is cut off here counts for the account, and holds nothing of its month any more.
  await sql.query('SELECT book_lost($1, NULL, NULL)', [open.map(({ id }) => id)]);
  const produced = await sql.query<{ sha: string }>(
    `SELECT sha FROM storage_entry WHERE workspace_id = ANY($1)
     UNION SELECT f.sha FROM run_file f JOIN run r ON r.id = f.run_id WHERE r.workspace_id = ANY($1)`,
    [ids],
  );
  await endEvals(sql, ids);
  await deleteSpent(sql, ids);
  for (const table of OF_RUN) {
    await sql.query(`DELETE FROM ${table} WHERE run_id IN (SELECT id FROM run WHERE workspace_id = ANY($1))`, [ids]);
  }
  for (const table of OF_WORKSPACE) await sql.query(`DELETE FROM ${table} WHERE workspace_id = ANY($1)`, [ids]);
  await sql.query('DELETE FROM api_key WHERE workspace = ANY($1)', [ids]);
  await sql.query(`DELETE FROM avatar WHERE kind = 'workspace' AND id = ANY($1)`, [ids]);
  await forgetNames(sql, ids);
  await sql.query('DELETE FROM workspace WHERE id = ANY($1)', [ids]);
  await sql.query(`INSERT INTO outbox (run_id, kind) SELECT id, 'cancel' FROM unnest($1::text[]) AS open (id)`, [
    open.map(({ id }) => id),
  ]);
  const orphans = await sql.query<{ sha: string }>(
    `SELECT sha FROM unnest($1::text[]) AS gone (sha)
     WHERE NOT EXISTS (SELECT 1 FROM storage_entry e WHERE e.sha = gone.sha)
       AND NOT EXISTS (SELECT 1 FROM run_file f WHERE f.sha = gone.sha)`,
    [produced.map(({ sha }) => sha)],
  );
  return orphans.map(({ sha }) => sha);
}

/** The live runs, locked in the order of every write: lane, run. */
async function lockLive(sql: Sql, ids: readonly string[]): Promise<readonly { readonly id: string }[]> {
  const live = 'SELECT id FROM run WHERE workspace_id = ANY($1) AND finished_at IS NULL';
  await sql.query(`SELECT 1 FROM lane WHERE run_id IN (${live}) ORDER BY run_id, lane FOR UPDATE`, [ids]);
  return sql.query<{ id: string }>(`${live} ORDER BY id FOR UPDATE`, [ids]);
}

/** Ends its evals: a judge that is asked is given up, and holds nothing of a month any more. */
async function endEvals(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(
    `INSERT INTO outbox (run_id, kind) SELECT id, 'cancel' FROM eval_run WHERE workspace_id = ANY($1) AND finished_at IS NULL`,
    [ids],
  );
  await sql.query(
    `WITH h AS (DELETE FROM hold WHERE run_id IN (SELECT id FROM eval_run WHERE workspace_id = ANY($1)) RETURNING key, nano)
     UPDATE spent s SET held = s.held - x.nano FROM (SELECT key, sum(nano)::bigint AS nano FROM h GROUP BY key) x WHERE s.key = x.key`,
    [ids],
  );
}

/** What the budgets of its runs, and its months, have counted. */
async function deleteSpent(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(
    `DELETE FROM spent WHERE (key LIKE 'run/%' AND split_part(key, '/', 2) IN (SELECT id FROM run WHERE workspace_id = ANY($1)))
      OR (key LIKE 'eval/%' AND split_part(key, '/', 2) IN (SELECT id FROM eval_run WHERE workspace_id = ANY($1)))
      OR (key LIKE 'month/workspace/%' AND split_part(key, '/', 3) = ANY($1))`,
    [ids],
  );
}

/** A later workspace of the same name is another one: who saw this one does not see that one. */
async function forgetNames(sql: Sql, ids: readonly string[]): Promise<void> {
  // Invites first: one that is being accepted is waited for, and then its member is there to be seen.
  for (const table of ['invite', 'member']) {
    await sql.query(
      `WITH gone AS (SELECT tenant_id, array_agg(name) AS names FROM workspace WHERE id = ANY($1) GROUP BY tenant_id)
       UPDATE ${table} s SET workspaces = ARRAY(SELECT name FROM unnest(s.workspaces) AS name WHERE name <> ALL (gone.names))
       FROM gone WHERE s.tenant_id = gone.tenant_id AND s.workspaces && gone.names`,
      [ids],
    );
  }
}

async function freeBlobs(deps: Deps, shas: readonly string[]): Promise<void> {
  for (const sha of shas) {
    await deps.blobs
      .delete(sha)
      .catch((error: unknown) =>
        deps.log.warn({ sha, error: errorMessage(error) }, 'a blob of a deleted workspace could not be freed'),
      );
  }
}
