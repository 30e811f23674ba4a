import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import type { SourceFile } from '../../format/index.js';
import type { MarkedFile } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Caller } from '../../shared/roles.js';
import { type LiveTree, visibleTree } from '../workspaces/live-tree.js';
import { prepareTree, readInReach } from '../workspaces/prepare-tree.js';
import { readBlobs } from '../workspaces/read-blobs.js';
import { applyTree, type TreeRequest } from './apply-tree.js';
import { requireDeployed } from './deploy-outcome.js';

/**
 * One change to the live tree: paths to remove, and files to put, with new bytes or as an existing blob. An existing
 * file keeps its executable mark when it moves.
 */
export interface TreeEdit {
  readonly remove: readonly string[];
  readonly put: ReadonlyMap<string, Uint8Array | MarkedFile>;
}

/** The live tree that an edit starts from. */
export interface EditedTree {
  readonly tree: ReturnType<typeof visibleTree>;
  /** A file's text; null when there is none. */
  readonly read: (path: string) => Promise<string | null>;
}

export interface TreeEditRequest extends Pick<TreeRequest, 'inTransaction'> {
  readonly workspace: string;
  /** The message of the commit and in history. */
  readonly message: string;
  /** Called again when another write came first, so that no write is lost. Throws a refusal. */
  readonly edit: (live: EditedTree) => Promise<TreeEdit>;
}

/** Deploys the live tree with some changes, even while runs are live, and replaces an agent's memory. */
export async function editTree(deps: Deps, caller: Caller, request: TreeEditRequest): Promise<DeployResultBody> {
  const { workspace, message, edit, inTransaction } = request;
  const outcome = await applyTree(deps, caller, {
    workspace,
    propose: async (sql, workspaceId, live) => {
      const change = await edit(editedTree(sql, workspaceId, live));
      const files = await filesWith(sql, workspaceId, live, change);
      return {
        prepared: await prepareTree(deps, files, await readInReach(sql, caller.tenant, workspaceId)),
        mentions: new Set([...change.remove, ...change.put.keys()]),
        executable: programsWith(live, change),
      };
    },
    id: null,
    via: 'edit',
    message: () => message,
    base: null,
    overLiveRuns: true,
    dryRun: false,
    inTransaction,
  });
  return requireDeployed(outcome);
}

export function editedTree(sql: Sql, workspaceId: string, live: LiveTree): EditedTree {
  const tree = visibleTree(live);
  return { tree, read: (path) => readText(sql, workspaceId, tree.get(path)?.sha) };
}

/** The executable paths after the change. New bytes keep the mark of the file. */
function programsWith({ source }: LiveTree, { put }: TreeEdit): Set<string> {
  const programs = new Set([...source].filter(([, file]) => file.executable).map(([path]) => path));
  for (const [path, file] of put) {
    if (file instanceof Uint8Array) continue;
    if (file.executable) programs.add(path);
    else programs.delete(path);
  }
  return programs;
}

async function readText(sql: Sql, workspaceId: string, sha: string | undefined): Promise<string | null> {
  if (sha === undefined) return null;
  const content = (await readBlobs(sql, workspaceId, [sha])).get(sha);
  return content ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(content) : null;
}

/** The live tree's files after the change. */
export async function filesWith(
  sql: Sql,
  workspaceId: string,
  live: LiveTree,
  change: TreeEdit,
): Promise<readonly SourceFile[]> {
  const files = new Map<string, Uint8Array | MarkedFile>(live.source);
  for (const path of change.remove) files.delete(path);
  for (const [path, content] of change.put) files.set(path, content);
  const shas = [...files.values()].flatMap((file) => (file instanceof Uint8Array ? [] : [file.sha]));
  const blobs = await readBlobs(sql, workspaceId, shas);
  return [...files].map(([path, file]) => ({
    path,
    content: file instanceof Uint8Array ? file : (blobs.get(file.sha) ?? new Uint8Array()),
  }));
}
