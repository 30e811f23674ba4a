import { deployTree, requireDeployed } from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import { isAncestor, MAIN, type Repository, readRef } from '../../git/index.js';
import { findWorkspace, type RecordAnswer } from '../../people/index.js';
import type { Caller } from '../../shared/roles.js';
import type { PushedTree } from '../receive/pushed-tree.js';
import { deployPending } from './pending.js';
import { openAligned } from './read-repo.js';
import { type ResolvedRef, resolveRef } from './resolve-ref.js';
import { treeOfCommit } from './tree-of-commit.js';

export interface DeployRefInput {
  readonly workspace: string;
  readonly ref: string;
  /** Deploy even while runs are live. */
  readonly force: boolean;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/**
 * Makes the tree of a ref live as a new commit on main, also for a rollback. The pending push is the exception, since
 * its commit goes on main itself. Refuses as a deploy does.
 */
export async function deployRef(deps: Deps, caller: Caller, input: DeployRefInput): Promise<DeployResultBody> {
  const { workspace, force, recordAnswer } = input;
  const { id } = await findWorkspace(deps.db, caller, workspace);
  const repository = await openAligned(deps, id);
  const found = await resolveRef(deps.db, repository, { workspaceId: id, ref: input.ref });
  if (found.kind === 'pending') return deployPending(deps, caller, { ...input, workspaceId: id });
  const tree = await treeOfCommit(repository, found.commit);
  const isBack = found.kind === 'revision' || (await isOfMain(repository, found.commit));
  const outcome = await deployTree(deps, caller, {
    workspace,
    files: tree.files,
    executable: tree.commit.executable,
    // Memory that agents wrote since stays, except files in which the ref differs from their deploy.
    mentions: 'changed',
    message: messageOf(found, tree),
    via: isBack ? 'rollback' : 'deploy',
    force,
    recordAnswer,
  });
  return requireDeployed(outcome);
}

/** True for a commit in the history of main. */
async function isOfMain(repository: Repository, commit: string): Promise<boolean> {
  const main = await readRef(repository, MAIN);
  return main !== null && (await isAncestor(repository, commit, main).catch(() => false));
}

function messageOf({ kind, label }: ResolvedRef, { message, commit }: PushedTree): string {
  const [subject = ''] = message.split('\n');
  const of = subject === '' ? '' : `: ${subject}`;
  return kind === 'revision' ? `Roll back to ${label}${of}` : `Deploy ${label} (${commit.id.slice(0, 10)})${of}`;
}
