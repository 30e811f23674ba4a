import type { DeletedWorkspaceBody } from '../../contract/workspaces.js';
import type { Deps } from '../../deps.js';
import { audit, findWorkspace, requireNoPreview } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { clearErased, eraseWorkspaces } from './erase-workspaces.js';
import { liveRuns } from './live-tree.js';

/**
 * Deletes a workspace with all its data. With live runs only if `force` is set: without their rows the workers stop
 * within a second, and the outbox cancels their workflows.
 */
export async function deleteWorkspace(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly force: boolean },
): Promise<DeletedWorkspaceBody> {
  const deleted = await deps.db.transaction(async (sql) => {
    const { id, name } = await findWorkspace(sql, caller, input.workspace, 'update');
    await requireNoPreview(sql, id, 'itself');
    const previews = await sql.query<{ id: string }>('SELECT id FROM workspace WHERE preview_of = $1 FOR UPDATE', [id]);
    const ids = [id, ...previews.map((preview) => preview.id)];
    const stopped = await countLive(sql, ids, input.force);
    const erased = await eraseWorkspaces(sql, ids);
    await audit(sql, caller, 'workspace.delete', name, { stopped });
    return { name, stopped, erased };
  });
  await clearErased(deps, deleted.erased);
  return { ok: true, name: deleted.name, stopped: deleted.stopped };
}

/** Counts the live runs of the workspace and its previews. Refuses `conflict` when there are any, unless forced. */
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
