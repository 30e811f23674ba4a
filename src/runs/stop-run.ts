import { audit } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { abortLive, closeRows, post, STOP_CHANNEL, tellEvents, tellNow } from '../engine/index.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import { lockRun } from './run-rows.js';

/** The run and what runs under it. */
const TREE = `WITH RECURSIVE tree AS (
  SELECT id FROM run WHERE id = $1 UNION ALL SELECT c.id FROM run c JOIN tree t ON c.parent_id = t.id)`;

/**
 * Ends the run and its open child runs by compare-and-set, then tells the workers that hold them, whose sandboxes
 * die with the word. Stopping an ended run answers the same and changes nothing.
 */
export async function stopRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly runId: string },
): Promise<{ ok: true; stopped: boolean }> {
  const stopped = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace);
    const run = await lockRun(sql, workspace.id, input.runId);
    if (run.ended) return [];
    const error = `stopped by ${caller.actor.label}`;
    const rows = await sql.query<{ id: string }>(
      `${TREE}, r AS (UPDATE run SET status = 'failed', stopped = true, error = $2, gates_open = 0, reserved_nano = 0,
          finished_at = now(), last_seq = last_seq + 1
          WHERE id IN (SELECT id FROM tree) AND finished_at IS NULL RETURNING id, last_seq)
        INSERT INTO run_event (run_id, seq, type, data)
        SELECT id, last_seq, 'run.stopped', jsonb_build_object('error', $2::text) FROM r RETURNING run_id AS id`,
      [run.id, error],
    );
    const ids = rows.map(({ id }) => id);
    await closeRows(sql, ids, error);
    for (const id of ids) {
      await sql.query('SELECT pg_notify($1, $2)', [STOP_CHANNEL, id]);
      await post(sql, id, 'cancel');
    }
    await audit(sql, caller, 'run.stop', run.id);
    return ids;
  });
  for (const id of stopped) {
    abortLive(id);
    tellEvents(deps, id);
    void tellNow(deps, id);
  }
  return { ok: true, stopped: stopped.length > 0 };
}
