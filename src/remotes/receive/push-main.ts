import { applyTree, noteRefused } from '../../deploys/index.js';
import { Refusal } from '../../shared/refusal.js';
import { readLiveTree } from '../../workspaces/index.js';
import { parkPush } from '../pending/park-push.js';
import { settleRefused } from '../pending/settle-refused.js';
import { comesAfter, createProposal, NOT_FORWARD, requireNewest } from './propose-commit.js';
import { issueLines, type UpdateRef } from './push-context.js';
import { readPushedChanges, readPushedTree } from './pushed-tree.js';
import { raisePush } from './raise-push.js';
import { sayEvals } from './say-evals.js';

/**
 * A push to `main` is a deploy of its newest commit: fast-forward from what is live, checked as any deploy, live whole or
 * not at all. Over live runs it is kept, and waits for their end.
 */
export const pushMain: UpdateRef = async (deps, context, command) => {
  const { remote, inside, pack, say, later, faultOf } = context;
  const id = command.new ?? '';
  const live = await readLiveTree(deps.db, remote.id);
  requireNewest(live, command.old);
  const changes = await readPushedChanges(inside, id, live);
  const reason = changes ? null : await faultOf(command);
  if (reason !== null) return { kind: 'no', reason };
  const tree = changes ?? (await readPushedTree(inside, id));
  if (!(await comesAfter(inside, tree, command.old))) return NOT_FORWARD;
  const propose = createProposal(deps, remote.caller.tenant, tree);
  const endRefused = await settleRefused(deps, inside, {
    workspaceId: remote.id,
    commit: id,
    pusher: remote.caller.actor.id,
  });
  try {
    const result = await applyTree(deps, remote.caller, {
      workspace: remote.name,
      propose: async (sql, workspaceId, now) => {
        requireNewest(now, command.old);
        return propose(sql, workspaceId, now);
      },
      ...{ id: null, via: 'push', base: null, overLiveRuns: false, dryRun: false },
      message: () => tree.message,
      before: () => pack.keep(),
      leavesMain: true,
      also: async (sql) => {
        await pack.take(sql);
        await endRefused?.(sql);
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
