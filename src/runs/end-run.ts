import { RUN_TABLES } from '../content/index.js';
import type { Ok, Stopped } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { abortLive, announceRuns, endRuns } from '../engine/index.js';
import { audit, findWorkspace } from '../people/index.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { lockRun } from './run-rows.js';

/**
 * Ends the run and its open child runs by compare-and-set, then notifies their workers, which kill the sandboxes.
 * Stopping an ended run gives the same answer and changes nothing.
 */
export async function stopRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly runId: string },
): Promise<Stopped> {
  const stopped = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace);
    const run = await lockRun(sql, workspace.id, input.runId);
    if (run.ended) return [];
    const ids = await endRuns(sql, [run.id], { error: `stopped by ${caller.actor.label}`, stopped: true });
    await audit(sql, caller, 'run.stop', run.id);
    return ids;
  });
  for (const id of stopped) abortLive(id);
  void announceRuns(deps, stopped);
  return { ok: true, stopped: stopped.length > 0 };
}

const TABLES = [...RUN_TABLES, 'slot', 'slot_lane', 'sandbox_process'] as const;

/** Deletes an ended run with its child runs. Its cost stays counted, and its memory writes stay. */
export async function deleteRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly runId: string },
): Promise<Ok> {
  await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace);
    const run = await lockRun(sql, workspace.id, input.runId);
    const tree = await sql.query<{ id: string; live: boolean }>(
      `WITH RECURSIVE tree AS (SELECT id, finished_at FROM run WHERE id = $1
        UNION ALL SELECT c.id, c.finished_at FROM run c JOIN tree t ON c.parent_id = t.id)
        SELECT id, finished_at IS NULL AS live FROM tree`,
      [run.id],
    );
    if (tree.some((row) => row.live)) throw new Refusal('conflict', 'the run is live: stop it before you delete it');
    const ids = tree.map((row) => row.id);
    for (const table of TABLES) await sql.query(`DELETE FROM ${table} WHERE run_id = ANY($1)`, [ids]);
    // A pending cancel of its workflow stays in the outbox.
    await sql.query(`DELETE FROM outbox WHERE run_id = ANY($1) AND kind <> 'cancel'`, [ids]);
    for (const id of ids)
      await sql.query(`DELETE FROM spent WHERE key = $1 OR (key >= $1 || '/' AND key < $1 || '0')`, [`run/${id}`]);
    await sql.query('DELETE FROM run WHERE id = ANY($1)', [ids]);
    await audit(sql, caller, 'run.delete', run.id);
  });
  return { ok: true };
}
