import type { Deps } from '../deps.js';
import { MAIN, moveRef, openRepository, readRef } from '../git/index.js';
import { ensureCommit } from './ensure-commit.js';

/**
 * Points `main` at the live revision; nothing for a workspace that is gone, or has none. Call it at every touch of the repository: a crash
 * between the commit of a deploy and the move of its ref leaves the ref behind, and this is what heals it.
 */
export async function alignMain(deps: Deps, workspaceId: string): Promise<void> {
  await deps.db.transaction(async (sql) => {
    // Shared, so that no deploy can swap the pointer between the look at it and the move of the ref.
    await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR SHARE', [workspaceId]);
    const [live] = await sql.query<{ seq: number; commit: string }>({
      name: 'live-commit',
      text: `SELECT r.seq, r.git_commit AS commit FROM workspace w
        JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq WHERE w.id = $1`,
      values: [workspaceId],
    });
    if (!live) return;
    // Only under the lock: opening makes what is not there, and a delete may have just removed it.
    const repository = await openRepository(deps.config.dataDir, workspaceId);
    if ((await readRef(repository, MAIN)) === live.commit) return;
    await ensureCommit(sql, repository, { workspaceId, ...live });
    await moveRef(repository, MAIN, live.commit);
  });
}
