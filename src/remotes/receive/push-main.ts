import { applyTree, noteRefused } from '../../deploys/index.js';
import { isAncestor } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import { readLiveTree, refusedTree } from '../../workspaces/index.js';
import { parkPush } from '../pending/park-push.js';
import { createProposal, requireNewest } from './propose-commit.js';
import { issueLines, type UpdateRef } from './push-context.js';
import { readPushedTree } from './pushed-tree.js';
import { raisePush } from './raise-push.js';
import { sayEvals } from './say-evals.js';

/**
 * A push to `main` is a deploy of its newest commit: fast-forward from what is live, checked as any deploy, live whole or
 * not at all. Over live runs it is kept, and waits for their end.
 */
export const pushMain: UpdateRef = async (deps, context, command) => {
  const { remote, inside, pack, say, later } = context;
  const id = command.new ?? '';
  const live = await readLiveTree(deps.db, remote.id);
  requireNewest(live, command.old);
  if (command.old !== null && !(await isAncestor(inside, command.old, id)))
    return { kind: 'no', reason: 'non-fast-forward: main only grows; pull, then push again' };
  const tree = await readPushedTree(inside, id);
  const propose = createProposal(deps, remote.caller.tenant, tree);
  try {
    const { prepared } = await propose(deps.db, remote.id, live);
    if (!prepared.workspace) throw refusedTree('the tree', prepared.issues);
    await pack.keep();
    const result = await applyTree(deps, remote.caller, {
      workspace: remote.name,
      propose: async (sql, workspaceId, now) => {
        requireNewest(now, command.old);
        return propose(sql, workspaceId, now);
      },
      ...{ id: null, via: 'push', base: null, overLiveRuns: false, dryRun: false },
      message: () => tree.message,
      also: async (sql) => {
        await pack.take(sql);
        await raisePush(sql, remote, { ref: command.ref, before: command.old, after: id });
      },
    });
    say(...issueLines(result.issues), `${remote.name} is live at ${id.slice(0, 12)}.`);
    const { revision } = result;
    later.push(() => sayEvals(deps, { workspaceId: remote.id, name: remote.name, revision, say }));
    return { kind: 'ok' };
  } catch (error) {
    if (isOverLiveRuns(error)) return (await parkPush(deps, context, command)) ?? pushMain(deps, context, command);
    await noteRefused(deps, remote.caller, { workspace: remote.name, via: 'push' }, error);
    throw error;
  }
};

function isOverLiveRuns(error: unknown): boolean {
  return error instanceof Refusal && error.details.code === 'deploy/live-runs';
}
