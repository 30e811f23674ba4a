import type { Deps } from '../../deps.js';
import type { Workspace } from '../../format/model.js';
import type { Sql } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import type { Actor } from '../../shared/roles.js';
import { storableJson } from '../../shared/storable-json.js';
import { type LiveTree, treeAfter, visibleTree } from './live-tree.js';
import { diffMarkedTrees, type RevisionIndex, type TreeDiff } from './manifest.js';
import { agentMemoryOf } from './memory-ref.js';
import { storePlans } from './plans.js';
import type { PreparedTree } from './prepare-tree.js';
import { type ReadyCommit, storeRevision } from './store-revision.js';
import { writeChange } from './write-change.js';

export interface RevisionInput {
  readonly workspaceId: string;
  /** The live tree, read under the lock that the caller holds. */
  readonly live: LiveTree;
  readonly prepared: PreparedTree & { readonly workspace: Workspace };
  /** Memory files of agents that this tree replaces. */
  readonly mentions: ReadonlySet<string>;
  /** The revision's id, a full hash; null uses the id of the git commit. */
  readonly id: string | null;
  /** Another id to use if it is free. */
  readonly preferredId?: string | null | undefined;
  /** The id as the caller gave it, for history. */
  readonly givenId?: string | null | undefined;
  readonly by: Actor;
  readonly via: 'deploy' | 'push' | 'edit' | 'rollback';
  readonly message: string;
  /** An existing commit to use instead of creating one. */
  readonly commit?: ReadyCommit | undefined;
  /** The executable paths, if there is no commit; without it each file keeps its mark. */
  readonly executable?: ReadonlySet<string> | undefined;
}

export interface WrittenRevision {
  readonly id: string;
  readonly gitCommit: string;
  readonly seq: number;
  readonly diff: TreeDiff;
}

/**
 * Makes a checked tree live. Call it with the workspace's row locked FOR UPDATE: git objects first (harmless when the
 * transaction rolls back), then the rows, the pointer last. `alignMain` moves the ref after the commit.
 */
export async function writeRevision(deps: Deps, sql: Sql, input: RevisionInput): Promise<WrittenRevision> {
  const { workspaceId, live, prepared } = input;
  const at = new Date(deps.clock.now());
  const plans = await storePlans(sql, workspaceId, prepared.workspace.plans);
  const { manifest, ...revision } = await storeRevision(deps, sql, {
    ...input,
    files: prepared.files,
    agentMemory: agentMemoryOf(live, prepared.files, input),
    at,
    plans,
    index: storableJson(indexOf(prepared)),
  });
  const before = visibleTree(live);
  const after = treeAfter(live, manifest, input.mentions);
  await writeChange(sql, { ...input, id: revision.id, at, before, after, revisionSeq: revision.seq, runId: null });
  failpoint('revision-written');
  await swapPointer(sql, input, revision.seq, at);
  return { ...revision, diff: diffMarkedTrees(before, after) };
}

function indexOf({ workspace, issues }: RevisionInput['prepared']): RevisionIndex {
  const { plans: _plans, ...summary } = workspace;
  return { ...summary, warnings: issues };
}

async function swapPointer(sql: Sql, input: RevisionInput, seq: number, at: Date): Promise<void> {
  const replaced = [...input.mentions].filter((path) => input.live.memory.has(path));
  if (replaced.length > 0) {
    await sql.query({
      name: 'replace-memory',
      text: 'DELETE FROM memory_file WHERE workspace_id = $1 AND path = ANY($2)',
      values: [input.workspaceId, replaced],
    });
  }
  await sql.query({
    name: 'swap-pointer',
    text: 'UPDATE workspace SET live_seq = $2, updated_at = $3 WHERE id = $1',
    values: [input.workspaceId, seq, at],
  });
}
