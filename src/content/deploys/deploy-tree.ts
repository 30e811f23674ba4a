import type { Deps } from '../../deps.js';
import type { SourceFile } from '../../format/model.js';
import type { RecordAnswer } from '../../people/index.js';
import type { Caller } from '../../shared/roles.js';
import type { TreeDiff } from '../workspaces/manifest.js';
import { applyTree, type TreeRequest } from './apply-tree.js';
import type { DeployOutcome } from './deploy-outcome.js';
import { noteRefused } from './note-refused.js';
import { createTreeProposal } from './propose-tree.js';
import { readCommit } from './read-commit.js';

export interface DeployInput {
  readonly workspace: string;
  /** The whole tree. Files that it leaves out are removed, except memory that agents wrote. */
  readonly files: readonly SourceFile[];
  /** See `readCommit`. */
  readonly commit?: string | undefined;
  readonly message?: string | undefined;
  readonly force?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  /** `false` refuses a tree without AGENTS.md that removes most of the live files. */
  readonly allowEmpty?: boolean | undefined;
  readonly base?: string | undefined;
  readonly via: 'deploy' | 'push' | 'rollback';
  /** Memory files that replace an agent's version; all in `files` when left out. `changed`: those that differ from the revision. */
  readonly mentions?: readonly string[] | 'changed' | undefined;
  /** The executable paths; without it each file keeps its mark. */
  readonly executable?: ReadonlySet<string> | undefined;
  /** Further writes in the transaction of the change. Not called when nothing changes. */
  readonly inTransaction?: TreeRequest['inTransaction'];
  /** Stores the answer for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Deploys a whole tree. Refuses as `applyTree` does. */
export async function deployTree(deps: Deps, caller: Caller, input: DeployInput): Promise<DeployOutcome> {
  const { message, ...ids } = readCommit(input);
  const propose = createTreeProposal(deps, caller.tenant, input);
  return applyTree(deps, caller, {
    workspace: input.workspace,
    propose,
    ...ids,
    via: input.via,
    message: (diff) => message ?? describeDiff(diff),
    base: input.base ?? null,
    overLiveRuns: input.force ?? false,
    dryRun: input.dryRun ?? false,
    recordAnswer: input.recordAnswer,
    inTransaction: input.inTransaction,
  }).catch(async (error: unknown) => {
    await noteRefused(deps, caller, input, error);
    throw error;
  });
}

function describeDiff({ added, changed, removed }: TreeDiff): string {
  const parts = [
    [added.length, 'added'],
    [changed.length, 'changed'],
    [removed.length, 'removed'],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return counts.length === 0 ? 'Deploy the same files' : `Deploy: ${counts.join(', ')}`;
}
