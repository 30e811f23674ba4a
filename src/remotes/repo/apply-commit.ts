import { applyTree, inTurn, requireDeployed, type TreeRequest } from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import type { Repository } from '../../git/index.js';
import type { RecordAnswer } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { prepareEndOfRefused } from '../pending/end-refused.js';
import { createProposal } from '../receive/propose-commit.js';
import type { PushedTree } from '../receive/pushed-tree.js';

/** Another deploy went live first: the work must start again from the new main. */
export class MainMoved extends Error {
  override readonly name = 'MainMoved';
}

export interface CommitToApply {
  readonly workspace: string;
  readonly workspaceId: string;
  readonly repository: Repository;
  readonly tree: PushedTree;
  /** The commit of main that it builds on; null for none. */
  readonly onto: string | null;
  readonly message: string;
  readonly via: TreeRequest['via'];
  readonly force: boolean;
  readonly recordAnswer?: RecordAnswer | undefined;
  readonly inTransaction?: TreeRequest['inTransaction'];
}

/** Makes an existing commit the live one of main. Throws MainMoved, and refuses as a deploy does. */
export async function applyCommit(deps: Deps, caller: Caller, input: CommitToApply): Promise<DeployResultBody> {
  const { tree, onto, workspaceId: id, repository, inTransaction } = input;
  const endRefused = await prepareEndOfRefused(deps, repository, {
    workspaceId: id,
    commit: tree.commit.id,
    pusher: null,
  });
  const outcome = await applyTree(deps, caller, {
    workspace: input.workspace,
    propose: createProposal(deps, caller.tenant, tree),
    onto,
    id: null,
    via: input.via,
    message: () => input.message,
    base: null,
    overLiveRuns: input.force,
    dryRun: false,
    recordAnswer: input.recordAnswer,
    inTransaction: async (sql, applied) => {
      await endRefused?.(sql);
      await inTransaction?.(sql, applied);
    },
  });
  if (outcome.kind === 'stale') throw new MainMoved(`${outcome.revision} is live, which does not build on ${onto}`);
  return requireDeployed(outcome);
}

/** The maximum number of attempts while other deploys go live first. */
const TRIES = 10;

/** Repeats the work when main has moved in the meantime. Runs one call at a time, so that two cannot overtake each other forever. */
export async function retryWhileMainMoves<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
  return inTurn(`repo/${workspaceId}`, async () => {
    for (let left = TRIES; left > 0; left -= 1) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof MainMoved)) throw error;
      }
    }
    throw new Refusal('conflict', 'main kept moving during the merge: try again', {
      code: 'repo/main-moved',
    });
  });
}
