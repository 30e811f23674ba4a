import type { Deps } from '../../deps.js';
import { removeRepository } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { freeBlobs } from '../../platform/storage/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { RUN_TABLES } from './run-files.js';

/** The tables of a run and of a workspace. Usage and audit belong to the account and stay. */
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
  'git_pack',
  'git_ref',
  'pending_push',
  'code_push',
  'code_source',
  'mirror',
];

/** What must be removed outside the database after the commit. */
export interface Erased {
  readonly ids: readonly string[];
  /** Blobs of produced files without a reference. */
  readonly orphans: readonly string[];
}

/** Deletes all rows of these workspaces, which the caller has locked, and stops their live runs. */
export async function eraseWorkspaces(sql: Sql, ids: readonly string[]): Promise<Erased> {
  const open = await lockLive(sql, ids);
  // Books interrupted calls to the account and ends their reservations of the month.
  await sql.query('SELECT book_lost($1, NULL, NULL)', [open.map(({ id }) => id)]);
  const produced = await sql.query<{ sha: string }>(
    `SELECT sha FROM storage_entry WHERE workspace_id = ANY($1)
     UNION SELECT sha FROM git_pack WHERE workspace_id = ANY($1)
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
  await leaveUsage(sql, ids);
  await removeNames(sql, ids);
  await sql.query('DELETE FROM workspace WHERE id = ANY($1)', [ids]);
  await sql.query(`INSERT INTO outbox (run_id, kind) SELECT id, 'cancel' FROM unnest($1::text[]) AS open (id)`, [
    open.map(({ id }) => id),
  ]);
  const orphans = await sql.query<{ sha: string }>(
    `SELECT sha FROM unnest($1::text[]) AS gone (sha)
     WHERE NOT EXISTS (SELECT 1 FROM storage_entry e WHERE e.sha = gone.sha)
       AND NOT EXISTS (SELECT 1 FROM run_file f WHERE f.sha = gone.sha)
       AND NOT EXISTS (SELECT 1 FROM git_pack p WHERE p.sha = gone.sha)`,
    [produced.map(({ sha }) => sha)],
  );
  return { ids, orphans: orphans.map(({ sha }) => sha) };
}

/** The live runs, locked in the order of every write: lane, run. */
async function lockLive(sql: Sql, ids: readonly string[]): Promise<readonly { readonly id: string }[]> {
  const live = 'SELECT id FROM run WHERE workspace_id = ANY($1) AND finished_at IS NULL';
  await sql.query(`SELECT 1 FROM lane WHERE run_id IN (${live}) ORDER BY run_id, lane FOR UPDATE`, [ids]);
  return sql.query<{ id: string }>(`${live} ORDER BY id FOR UPDATE`, [ids]);
}

/** Cancels the running evals and releases the reservations of their judges. */
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

/** Deletes the counters of the runs' budgets and of the workspace's months. */
async function deleteSpent(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(
    `DELETE FROM spent WHERE (key LIKE 'run/%' AND split_part(key, '/', 2) IN (SELECT id FROM run WHERE workspace_id = ANY($1)))
      OR (key LIKE 'eval/%' AND split_part(key, '/', 2) IN (SELECT id FROM eval_run WHERE workspace_id = ANY($1)))
      OR (key LIKE 'month/workspace/%' AND split_part(key, '/', 3) = ANY($1))`,
    [ids],
  );
}

/** Moves a preview's usage to its source, whose budget it counted towards, so that deleting a branch gives no money back. */
async function leaveUsage(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(
    `UPDATE usage u SET workspace_id = w.preview_of FROM workspace w
      WHERE u.workspace_id = w.id AND w.id = ANY($1) AND w.preview_of IS NOT NULL`,
    [ids],
  );
}

/** Removes the names from the scopes of members and invites, so that they do not apply to a later workspace of that name. */
async function removeNames(sql: Sql, ids: readonly string[]): Promise<void> {
  // Invites first: this waits for an invite that is being accepted, whose member is then visible to the second update.
  for (const table of ['invite', 'member']) {
    await sql.query(
      `WITH gone AS (SELECT tenant_id, array_agg(name) AS names FROM workspace WHERE id = ANY($1) GROUP BY tenant_id)
       UPDATE ${table} s SET workspaces = ARRAY(SELECT name FROM unnest(s.workspaces) AS name WHERE name <> ALL (gone.names))
       FROM gone WHERE s.tenant_id = gone.tenant_id AND s.workspaces && gone.names`,
      [ids],
    );
  }
}

/** After the commit: removes the repositories and blobs. Logs a failure and continues, since leftovers are harmless. */
export async function clearErased(deps: Deps, { ids, orphans }: Erased): Promise<void> {
  failpoint('rows-erased');
  for (const id of ids) {
    await removeRepository(deps.config.dataDir, id).catch((error: unknown) =>
      deps.log.warn({ workspaceId: id, err: error }, 'failed to remove a repository'),
    );
  }
  await freeBlobs(deps, orphans).catch((error: unknown) =>
    deps.log.warn({ err: error }, 'failed to free the blobs of a deleted workspace, left to the sweep'),
  );
}

/** The ids among these that belong to no workspace and no library. */
export async function findGone(sql: Sql, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await sql.query<{ id: string }>({
    name: 'find-gone',
    text: `SELECT id FROM unnest($1::text[]) AS known (id)
      WHERE NOT EXISTS (SELECT 1 FROM workspace w WHERE w.id = known.id)
        AND NOT EXISTS (SELECT 1 FROM library l WHERE 'library.' || l.tenant_id = known.id)`,
    values: [ids],
  });
  return new Set(rows.map(({ id }) => id));
}
