import type { Stopped } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { abortLive, announceRuns, endRuns } from '../engine/index.js';
import { audit, findWorkspace } from '../people/index.js';
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
