import type { Once } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import type { Caller } from '../shared/roles.js';
import type { SourceFile } from '../workspace/model.js';
import { type LiveTree, type PreparedTree, prepareTree, readInReach, type TreeDiff } from '../workspaces/index.js';
import { applyTree, type DeployResult, type TreeRequest } from './apply-tree.js';
import { noteRefused } from './note-refused.js';

export interface DeployInput {
  readonly workspace: string;
  /** The whole tree; what it leaves out goes, but for memory that agents wrote. */
  readonly files: readonly SourceFile[];
  /** A full hash of 40 hex digits is the revision's id; anything else is the message. */
  readonly commit?: string | undefined;
  readonly message?: string | undefined;
  readonly force?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly base?: string | undefined;
  readonly via: 'deploy' | 'push' | 'rollback';
  /** Memory files that replace what an agent wrote; when left out, all that `files` holds. `changed`: those that differ from the revision's. */
  readonly mentions?: readonly string[] | 'changed' | undefined;
  /** The paths that are marked as programs; without it a file stays what it was. */
  readonly executable?: ReadonlySet<string> | undefined;
  /** What is written with it, in its transaction. Not called when nothing had to be written. */
  readonly also?: TreeRequest['also'];
  /** Keeps the answer with what was done. */
  readonly once?: Once | undefined;
}

const FULL_HASH = /^[0-9a-f]{40}$/i;

/** Deploys a whole tree. See `applyTree` for what refuses it. */
export async function deployTree(deps: Deps, caller: Caller, input: DeployInput): Promise<DeployResult> {
  const { id, message } = readCommit(input);
  let last: PreparedTree | undefined;
  return applyTree(deps, caller, {
    workspace: input.workspace,
    propose: async (sql, workspaceId, live) => {
      const reach = await readInReach(sql, caller.tenant, workspaceId);
      // The same files are read once, and again only when another library came in between.
      if (last?.librarySeq !== reach.library.seq) last = await prepareTree(deps, input.files, reach);
      return { prepared: last, mentions: mentionsOf(input, last, live), executable: input.executable };
    },
    id,
    via: input.via,
    message: (diff) => message ?? describeDiff(diff),
    base: input.base ?? null,
    overLiveRuns: input.force ?? false,
    dryRun: input.dryRun ?? false,
    once: input.once,
    also: input.also,
  }).catch(async (error: unknown) => {
    await noteRefused(deps, caller, input, error);
    throw error;
  });
}

function mentionsOf({ mentions, files }: DeployInput, { files: prepared }: PreparedTree, live: LiveTree): Set<string> {
  if (mentions !== 'changed') return new Set(mentions ?? files.map(({ path }) => path));
  return new Set([...prepared].filter(([path, { sha }]) => live.source.get(path)?.sha !== sha).map(([path]) => path));
}

function readCommit({ commit, message }: DeployInput): { id: string | null; message: string | undefined } {
  const isHash = commit !== undefined && FULL_HASH.test(commit);
  const text = message ?? (isHash ? undefined : commit);
  return { id: isHash ? commit.toLowerCase() : null, message: text?.replaceAll('\0', '').trim() || undefined };
}

function describeDiff({ added, changed, removed }: TreeDiff): string {
  const parts = [
    [added.length, 'added'],
    [changed.length, 'changed'],
    [removed.length, 'removed'],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return told.length === 0 ? 'Deploy the same files' : `Deploy: ${told.join(', ')}`;
}
