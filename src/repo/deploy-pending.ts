import type { DeployResult } from '../deploys/index.js';
import type { Deps } from '../deps.js';
import { isAncestor, MAIN, readRef } from '../git/index.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { deleteRef } from '../workspaces/index.js';
import { applyCommit, untilStill } from './apply-commit.js';
import { PENDING } from './branch-refs.js';
import type { DeployRefInput } from './deploy-ref.js';
import { openAligned } from './read-repo.js';
import { treeOfCommit } from './tree-of-commit.js';

/** Applies the push that waits, now: it was accepted for main, so main is at that very commit then. */
export async function deployPending(
  deps: Deps,
  caller: Caller,
  {
    workspaceId,
    commit,
    workspace,
    force,
    once,
  }: DeployRefInput & { readonly workspaceId: string; readonly commit: string },
): Promise<DeployResult> {
  return untilStill(workspaceId, async () => {
    const repository = await openAligned(deps, workspaceId);
    const main = await readRef(repository, MAIN);
    if (main !== null && !(await isAncestor(repository, main, commit))) {
      throw new Refusal('conflict', 'main has moved on since that push: fetch it, merge, and push again', {
        code: 'repo/not-forward',
      });
    }
    const tree = await treeOfCommit(repository, commit);
    return applyCommit(deps, caller, {
      workspace,
      tree,
      onto: main,
      message: tree.message,
      via: 'push',
      force,
      once,
      also: async (sql) => {
        await deleteRef(sql, { workspaceId, name: PENDING, expect: commit });
        await sql.query('DELETE FROM pending_push WHERE workspace_id = $1 AND oid = $2', [workspaceId, commit]);
      },
    });
  });
}
