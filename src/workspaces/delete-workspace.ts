import { audit } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { clearErased, eraseWorkspaces } from './erase-workspaces.js';
import { findWorkspace } from './find-workspace.js';
import { liveRuns } from './live-runs.js';
import { requireNoPreview } from './of-preview.js';

export interface DeletedWorkspace {
  readonly ok: true;
  readonly name: string;
  /** Runs that were live, and are stopped by this. */
  readonly stopped: number;
}

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
