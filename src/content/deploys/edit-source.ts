import type { DeployResultBody } from '../../contract/deploys.js';
import type { FileChangeBody } from '../../contract/history.js';
import type { SourceEditBody } from '../../contract/source.js';
import type { Deps } from '../../deps.js';
import type { SourceFile } from '../../format/index.js';
import { blobId, type MarkedFile } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { diffText } from '../../shared/line-diff.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { decodeUtf8 } from '../../shared/utf8.js';
import { type LiveTree, readBlobs, visibleTree } from '../workspaces/live-tree.js';
import { prepareTree, readInReach } from '../workspaces/prepare-tree.js';
import { applyTree, type TreeRequest } from './apply-tree.js';
import { requireDeployed } from './deploy-outcome.js';
import { checkPrecondition, type Precondition } from './preconditions.js';
import { requirePath } from './require-path.js';

interface EditTarget {
  readonly workspace: string;
  readonly expect: Precondition;
}

/** Writes one file: deploys the live tree with that change, even while runs are live, and replaces an agent's memory. */
export async function writeSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly path: string; readonly content: Uint8Array },
): Promise<SourceEditBody> {
  const { path, content } = input;
  requirePath(path);
  const result = await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Edit ${path}`,
    edit: async ({ tree }) => {
      checkPrecondition(path, tree.get(path)?.sha ?? null, input.expect);
      return { remove: [], put: new Map([[path, content]]) };
    },
  });
  return { ...result, path, sha: blobId(content) };
}

/** Moves one file. `expect.match` applies to the source path; the target path must be free. */
export async function moveSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly from: string; readonly to: string },
): Promise<SourceEditBody> {
  const { from, to } = input;
  requirePath(from);
  requirePath(to);
  let sha = '';
  const result = await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Move ${from} to ${to}`,
    edit: async ({ tree }) => {
      const file = tree.get(from);
      if (!file) throw notFound('file');
      checkPrecondition(from, file.sha, { match: input.expect.match });
      checkPrecondition(to, tree.get(to)?.sha ?? null, { absent: input.expect.absent });
      if (from === to) throw new Refusal('refused', `to: ${from} is the current path; give another path`);
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
): Promise<SourceEditBody> {
  const { path } = input;
  requirePath(path);
  const result = await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Remove ${path}`,
    edit: async ({ tree }) => {
      const file = tree.get(path);
      if (!file) throw notFound('file');
      checkPrecondition(path, file.sha, input.expect);
      return { remove: [path], put: new Map() };
    },
  });
  return { ...result, path, sha: null };
}

/** The limits of one answer: bytes of text, before and after together, and lines of diff. */
const MAX_BYTES = 4 * 1024 * 1024;

const MAX_LINES = 20_000;

const NOTHING = { before: null, after: null, diff: [], binary: false, truncated: false } as const;

const BINARY = Symbol('binary');

/**
 * One change to the live tree: paths to remove, and files to put, with new bytes or as an existing blob. An existing
 * file keeps its executable mark when it moves.
 */
interface TreeEdit {
  readonly remove: readonly string[];
  readonly put: ReadonlyMap<string, Uint8Array | MarkedFile>;
}

/** The live tree that an edit starts from. */
export interface EditedTree {
  readonly tree: ReturnType<typeof visibleTree>;
  /** A file's text; null when there is none. */
  readonly read: (path: string) => Promise<string | null>;
}

interface TreeEditRequest extends Pick<TreeRequest, 'inTransaction'> {
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

export interface FileShas {
  readonly path: string;
  /** Its blob; null when the file did not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Reads the sizes and the bytes of blobs. */
export interface BlobSource {
  readonly sizes: (shas: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  readonly read: (shas: readonly string[]) => Promise<ReadonlyMap<string, Uint8Array>>;
}

/** The files with their texts and line diffs, up to the limits of one answer. Further files are marked `truncated`. */
export async function readFileChanges(files: readonly FileShas[], blobs: BlobSource): Promise<FileChangeBody[]> {
  const fitting = await fittingFiles(files, blobs);
  const contents = await blobs.read([...new Set(fitting.flatMap(shasOf))]);
  const carried = new Set(fitting);
  const changes: FileChangeBody[] = [];
  let lines = 0;
  for (const file of files) {
    const change =
      carried.has(file) && lines <= MAX_LINES
        ? await readFile(file, contents)
        : { path: file.path, ...NOTHING, truncated: true };
    lines += change.diff.length;
    changes.push(change);
  }
  return changes;
}

async function readFile(file: FileShas, blobs: ReadonlyMap<string, Uint8Array>): Promise<FileChangeBody> {
  const before = decode(file.before, blobs);
  const after = decode(file.after, blobs);
  if (before === BINARY || after === BINARY) return { path: file.path, ...NOTHING, binary: true };
  return { path: file.path, ...NOTHING, before, after, diff: await diffText(before ?? '', after ?? '') };
}

/** The first files whose bytes fit into one answer. */
async function fittingFiles(files: readonly FileShas[], { sizes }: BlobSource): Promise<FileShas[]> {
  const found = await sizes([...new Set(files.flatMap(shasOf))]);
  let total = 0;
  return files.filter((file) => {
    for (const sha of shasOf(file)) total += found.get(sha) ?? 0;
    return total <= MAX_BYTES;
  });
}

function shasOf({ before, after }: FileShas): string[] {
  return [before, after].filter((sha) => sha !== null);
}

function decode(sha: string | null, blobs: ReadonlyMap<string, Uint8Array>): string | null | typeof BINARY {
  if (sha === null) return null;
  const text = decodeUtf8(blobs.get(sha) ?? new Uint8Array());
  return text === null || text.includes('\0') ? BINARY : text;
}
