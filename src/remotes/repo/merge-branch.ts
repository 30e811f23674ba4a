import {
  applyTree,
  deployTree,
  dropPack,
  inTurn,
  linkPack,
  recordLoadedPack,
  requireDeployed,
  type StoredPack,
  storePack,
  type TreeRequest,
} from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import { adoptPack, isAncestor, MAIN, mergeCommits, type Repository, readRef } from '../../git/index.js';
import { findWorkspace, type RecordAnswer } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { prepareEndOfRefused } from '../pending/end-refused.js';
import { createProposal } from '../receive/propose-commit.js';
import type { PushedTree } from '../receive/pushed-tree.js';
import { needBranch } from './branch-refs.js';
import { openAligned } from './read-repo.js';
import { treeOfCommit } from './tree-of-commit.js';

/** Another deploy went live first: the work must start again from the new main. */
class MainMoved extends Error {
  override readonly name = 'MainMoved';
}

/** The maximum number of attempts while other deploys go live first. */
const TRIES = 10;

interface MergeBranchInput {
  readonly workspace: string;
  readonly branch: string;
  /** Merge even while runs are live. */
  readonly force: boolean;
  readonly recordAnswer?: RecordAnswer | undefined;
}

interface Place extends MergeBranchInput {
  readonly workspaceId: string;
  readonly repository: Repository;
  /** The commit of main; null when nothing is live. */
  readonly main: string | null;
  readonly commit: string;
}

/**
 * Merges a branch into main and makes it live: as a fast-forward if possible, else by a merge commit. Refuses
 * `conflict` with the paths that both sides changed, and as a deploy does; then no ref has moved.
 */
export async function mergeBranch(deps: Deps, caller: Caller, input: MergeBranchInput): Promise<DeployResultBody> {
  if (input.branch === 'main')
    throw new Refusal('refused', 'branch: main cannot be merged into itself; name another branch');
  const { id: workspaceId } = await findWorkspace(deps.db, caller, input.workspace);
  return retryWhileMainMoves(workspaceId, async () => {
    const commit = await needBranch(deps.db, workspaceId, input.branch);
    const repository = await openAligned(deps, workspaceId);
    const main = await readRef(repository, MAIN);
    const place = { ...input, workspaceId, repository, main, commit };
    if (main === null || (await isAncestor(repository, main, commit))) return fastForward(deps, caller, place);
    if (await isAncestor(repository, commit, main)) return answerMerged(deps, caller, { ...place, main });
    return mergeBoth(deps, caller, { ...place, main });
  });
}

async function fastForward(deps: Deps, caller: Caller, place: Place): Promise<DeployResultBody> {
  const tree = await treeOfCommit(place.repository, place.commit);
  return applyCommit(deps, caller, {
    ...place,
    tree,
    onto: place.main,
    message: subjectOf(place.branch),
    via: 'deploy',
  });
}

/** Main contains the branch already: answers like a deploy of the live files. */
async function answerMerged(
  deps: Deps,
  caller: Caller,
  place: Place & { readonly main: string },
): Promise<DeployResultBody> {
  const { files, commit } = await treeOfCommit(place.repository, place.main);
  const { workspace, force, recordAnswer, main } = place;
  const message = subjectOf(place.branch);
  const outcome = await deployTree(deps, caller, {
    workspace,
    files,
    executable: commit.executable,
    mentions: 'changed',
    message,
    base: main,
    via: 'deploy',
    force,
    recordAnswer,
  });
  return requireDeployed(outcome);
}

async function mergeBoth(
  deps: Deps,
  caller: Caller,
  place: Place & { readonly main: string },
): Promise<DeployResultBody> {
  const { repository, workspaceId, main, commit, branch } = place;
  const message = subjectOf(branch);
  const at = new Date(deps.clock.now());
  const merge = await mergeCommits(repository, { into: main, commit, by: caller.actor, message, at });
  if (merge.kind === 'conflict') throw conflictOf(branch, merge.paths);
  try {
    const pack = await storePack(deps, workspaceId, merge.pack);
    await adoptPack(repository, merge.pack);
    return await applyPacked(deps, caller, { ...place, commit: merge.commit, message, pack });
  } finally {
    await merge.quarantine.remove();
  }
}

/** Applies a merge commit, and deletes its pack when no transaction has linked it. */
async function applyPacked(
  deps: Deps,
  caller: Caller,
  place: Place & { readonly message: string; readonly pack: StoredPack },
): Promise<DeployResultBody> {
  const { workspaceId, repository, pack, main: onto } = place;
  try {
    const tree = await treeOfCommit(repository, place.commit);
    const inTransaction = (sql: Parameters<typeof linkPack>[0]) => linkPack(sql, workspaceId, pack.id);
    const result = await applyCommit(deps, caller, { ...place, tree, onto, via: 'deploy', inTransaction });
    await recordLoadedPack(deps.db, repository, pack.id);
    return result;
  } catch (error) {
    if (error instanceof Refusal || error instanceof MainMoved) await dropPack(deps, pack);
    throw error;
  }
}

/** How many paths an answer names. */
const NAMED = 100;

function conflictOf(branch: string, paths: readonly string[]): Refusal {
  const what = paths.length === 1 ? 'a file' : `${paths.length} files`;
  const message = `${branch} and main both changed ${what}: merge main into ${branch} with git, push it, and merge again`;
  return new Refusal('conflict', message, { code: 'repo/merge-conflict', paths: paths.slice(0, NAMED) });
}

function subjectOf(branch: string): string {
  return `Merge branch ${branch}`;
}

interface CommitToApply {
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
async function applyCommit(deps: Deps, caller: Caller, input: CommitToApply): Promise<DeployResultBody> {
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

/**
 * Repeats the work when main has moved in the meantime. Runs one call at a time, so that two cannot overtake each other
 * forever.
 */
async function retryWhileMainMoves<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
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
