import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { blobId } from '../git/index.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { type LiveTree, prepareTree, readBlobs, readInReach, visibleTree } from '../workspaces/index.js';
import { applyTree, type DeployResult } from './apply-tree.js';
import { checkPrecondition, type Precondition } from './preconditions.js';
import { requirePath } from './require-path.js';

export interface SourceEdit extends DeployResult {
  readonly path: string;
  /** The file's sha now; null when it was removed. */
  readonly sha: string | null;
}

interface EditTarget {
  readonly workspace: string;
  readonly expect: Precondition;
}

/** One change to the live tree: what leaves, and what comes with its bytes or by the blob that it has. */
interface Edit {
  readonly remove: readonly string[];
  readonly put: ReadonlyMap<string, Uint8Array | { readonly sha: string }>;
}

/** Writes one file: a deploy of the live tree with that one change, also over live runs and over an agent's memory. */
export async function writeSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly path: string; readonly content: Uint8Array },
): Promise<SourceEdit> {
  const { path, content } = input;
  requirePath(path);
  const result = await editTree(deps, caller, input.workspace, {
    message: `Edit ${path}`,
    edit: (tree) => {
      checkPrecondition(path, tree.get(path)?.sha ?? null, input.expect);
      return { remove: [], put: new Map([[path, content]]) };
    },
  });
  return { ...result, path, sha: blobId(content) };
}

/** Moves one file. `expect.match` is about the file that moves; the place it moves to must be free. */
export async function moveSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly from: string; readonly to: string },
): Promise<SourceEdit> {
  const { from, to } = input;
  requirePath(from);
  requirePath(to);
  let sha = '';
  const result = await editTree(deps, caller, input.workspace, {
    message: `Move ${from} to ${to}`,
    edit: (tree) => {
      const file = tree.get(from);
      if (!file) throw notFound('file');
      checkPrecondition(from, file.sha, { match: input.expect.match });
      checkPrecondition(to, tree.get(to)?.sha ?? null, { absent: input.expect.absent });
      if (tree.has(to)) throw new Refusal('conflict', `${to} exists already; remove it first, or choose another path`);
      sha = file.sha;
      return { remove: [from], put: new Map([[to, file]]) };
    },
  });
  return { ...result, path: to, sha };
}

/** Removes one file. */
export async function removeSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly path: string },
): Promise<SourceEdit> {
  const { path } = input;
  requirePath(path);
  const result = await editTree(deps, caller, input.workspace, {
    message: `Remove ${path}`,
    edit: (tree) => {
      const file = tree.get(path);
      if (!file) throw notFound('file');
      checkPrecondition(path, file.sha, input.expect);
      return { remove: [path], put: new Map() };
    },
  });
  return { ...result, path, sha: null };
}

async function editTree(
  deps: Deps,
  caller: Caller,
  workspace: string,
  { message, edit }: { message: string; edit: (tree: ReturnType<typeof visibleTree>) => Edit },
): Promise<DeployResult> {
  return applyTree(deps, caller, {
    workspace,
    propose: async (sql, workspaceId, live) => {
      const change = edit(visibleTree(live));
      const files = await editedFiles(sql, workspaceId, { live, change });
      return {
        prepared: await prepareTree(deps, files, await readInReach(sql, caller.tenant, workspaceId)),
        mentions: new Set([...change.remove, ...change.put.keys()]),
      };
    },
    id: null,
    via: 'edit',
    message: () => message,
    base: null,
    overLiveRuns: true,
    dryRun: false,
  });
}

async function editedFiles(sql: Sql, workspaceId: string, { live, change }: { live: LiveTree; change: Edit }) {
  const files = new Map<string, Uint8Array | { readonly sha: string }>(live.source);
  for (const path of change.remove) files.delete(path);
  for (const [path, content] of change.put) files.set(path, content);
  const shas = [...files.values()].flatMap((file) => (file instanceof Uint8Array ? [] : [file.sha]));
  const blobs = await readBlobs(sql, workspaceId, shas);
  return [...files].map(([path, file]) => ({
    path,
    content: file instanceof Uint8Array ? file : (blobs.get(file.sha) ?? new Uint8Array()),
  }));
}
