import {
  applyTree,
  type DeployOutcome,
  NotDeployed,
  noteRefused,
  planTree,
  readLiveTree,
  type TreeRequest,
} from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import type { RefCommand } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import { prepareEndOfRefused } from '../pending/end-refused.js';
import { countRuns, parkPush, runLines } from '../pending/pending-rows.js';
import { comesAfter, createProposal, fetchFirst, NOT_FORWARD, requireNewest } from './propose-commit.js';
import { issueLines, type PlanRef, type PushContext, type UpdateRef } from './push-context.js';
import { readPushedChanges, readPushedTree } from './pushed-tree.js';
import { raisePush } from './raise-push.js';
import type { Outcome } from './report.js';
import { reportEvals } from './report-evals.js';

/**
 * A push to `main` deploys its newest commit: a fast-forward from the live commit, checked like any deploy, all or
 * nothing. While runs are live the push is stored and waits for their end.
 */
export const pushMain: UpdateRef = async (deps, context, command) => {
  const request = await readMain(deps, context, command);
  if ('kind' in request) return request;
  const { remote } = context;
  const outcome = await applyTree(deps, remote.caller, request).catch(async (error: unknown) => {
    await noteRefused(deps, remote.caller, { workspace: remote.name, via: 'push' }, error);
    throw error;
  });
  if (outcome.kind === 'stale') throw fetchFirst();
  if (outcome.kind === 'blocked') return (await parkPush(deps, context, command)) ?? pushMain(deps, context, command);
  return reportMain(deps, context, outcome.result);
};

/**
 * The same for a transaction that moves other refs too: while runs are live it is refused (`refuseMain`) and does not
 * wait.
 */
export const planMain: PlanRef = async (deps, context, command) => {
  const request = await readMain(deps, context, command);
  if ('kind' in request) return request;
  const plan = await planTree(deps, context.remote.caller, request);
  if (plan.early) resultOf(plan.early);
  let result: DeployResultBody | undefined;
  return {
    apply: async (sql, onStale) => {
      result = resultOf(await plan.apply(sql, onStale));
    },
    done: async () => {
      if (!result) throw new Error('main was not moved');
      return reportMain(deps, context, result);
    },
  };
};

/** Throws for a deploy that does not go live, which ends the transaction and with it the whole push. */
function resultOf(outcome: DeployOutcome): DeployResultBody {
  if ('result' in outcome) return outcome.result;
  throw outcome.kind === 'stale' ? fetchFirst() : new NotDeployed(outcome);
}

/** Records the refusal of `main` in an atomic push, after its transaction, and returns the error to report. */
export async function refuseMain(deps: Deps, { remote, say }: PushContext, error: unknown): Promise<unknown> {
  if (!(error instanceof NotDeployed) || error.outcome.kind !== 'blocked') {
    await noteRefused(deps, remote.caller, { workspace: remote.name, via: 'push' }, error);
    return error;
  }
  const { live, runs } = error.outcome;
  say(`${remote.name} has ${countRuns(live)}:`, ...runLines({ count: live, runs }));
  return new Refusal(
    'conflict',
    `${countRuns(live)} must end first, and an atomic push does not wait: push again later, or without --atomic`,
    { code: 'deploy/live-runs' },
  );
}

/** The deploy request of a push, or the outcome if the push is refused. */
async function readMain(
  deps: Deps,
  { remote, inside, pack, faultOf }: PushContext,
  command: RefCommand,
): Promise<TreeRequest | Outcome> {
  const id = command.new ?? '';
  const live = await readLiveTree(deps.db, remote.id);
  requireNewest(live, command.old);
  const changes = await readPushedChanges(inside, id, live);
  const reason = changes ? null : await faultOf(command);
  if (reason !== null) return { kind: 'no', reason };
  const tree = changes ?? (await readPushedTree(inside, id));
  if (!(await comesAfter(inside, tree, command.old))) return NOT_FORWARD;
  const endRefused = await prepareEndOfRefused(deps, inside, {
    workspaceId: remote.id,
    commit: id,
    pusher: remote.caller.actor.id,
  });
  return {
    workspace: remote.name,
    propose: createProposal(deps, remote.caller.tenant, tree),
    onto: command.old,
    ...{ id: null, via: 'push', base: null, overLiveRuns: false, dryRun: false },
    message: () => tree.message,
    prepare: () => pack.store(),
    leavesMain: true,
    inTransaction: async (sql) => {
      await pack.link(sql);
      await endRefused?.(sql);
      await raisePush(sql, remote, { ref: command.ref, before: command.old, after: id });
    },
  };
}

function reportMain(
  deps: Deps,
  { remote, say, later }: PushContext,
  { issues, revision, gitCommit }: DeployResultBody,
): Outcome {
  say(...issueLines(issues), `${remote.name} is live at ${gitCommit?.slice(0, 12)}.`);
  later.push(() => reportEvals(deps, { workspaceId: remote.id, name: remote.name, revision, say }));
  return { kind: 'ok' };
}
