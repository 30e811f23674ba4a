import type { Deps } from '../deps.js';
import { type DiffLine, diffText } from '../shared/line-diff.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace, readBlobs } from '../workspaces/index.js';
import { CHANGE_COLUMNS, CHANGE_JOIN, type ChangeSummary } from './list-changes.js';
import { requirePath } from './require-path.js';

export interface FileChange {
  readonly path: string;
  /** The text before; null when there was no file, or when it is not text (then `binary`). */
  readonly before: string | null;
  readonly after: string | null;
  readonly diff: readonly DiffLine[];
  readonly binary: boolean;
  /** True when the answer was full before this file: ask for it by `path`. */
  readonly truncated: boolean;
}

export interface ChangeDetail extends ChangeSummary {
  readonly files: readonly FileChange[];
}

interface FileShas {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** As many bytes of text, before and after together, and as many lines of diff as one answer carries. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_LINES = 20_000;

/** One change with its files, by its id or its git commit; `path` narrows it to one file. */
export async function readChange(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly id: string; readonly path?: string | undefined },
): Promise<ChangeDetail> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  return readChangeOf(deps, id, input);
}

/** One change of a workspace, or of an account's library, by the id of that. */
export async function readChangeOf(
  deps: Deps,
  workspaceId: string,
  input: { readonly id: string; readonly path?: string | undefined },
): Promise<ChangeDetail> {
  if (input.path !== undefined) requirePath(input.path);
  const [row] = await deps.db.query<ChangeSummary & { readonly seq: bigint; readonly files: readonly FileShas[] }>({
    name: 'read-change',
    text: `SELECT ${CHANGE_COLUMNS}, c.files FROM ${CHANGE_JOIN}
      WHERE c.workspace_id = $1 AND (c.id = $2 OR r.git_commit = $2) ORDER BY c.seq LIMIT 1`,
    values: [workspaceId, input.id],
  });
  if (!row) throw notFound('change');
  const { seq: _seq, files, ...change } = row;
  const wanted = files.filter(({ path }) => input.path === undefined || path === input.path);
  return { ...change, files: await readFiles(deps, workspaceId, wanted) };
}

async function readFiles(deps: Deps, workspaceId: string, files: readonly FileShas[]): Promise<FileChange[]> {
  const fitting = await fittingFiles(deps, workspaceId, files);
  const blobs = await readBlobs(deps.db, workspaceId, fitting.flatMap(shasOf));
  const carried = new Set(fitting);
  const changes: FileChange[] = [];
  let lines = 0;
  for (const file of files) {
    const change =
      carried.has(file) && lines <= MAX_LINES
        ? await readFile(file, blobs)
        : { path: file.path, ...NOTHING, truncated: true };
    lines += change.diff.length;
    changes.push(change);
  }
  return changes;
}

async function readFile(file: FileShas, blobs: ReadonlyMap<string, Uint8Array>): Promise<FileChange> {
  const before = decode(file.before, blobs);
  const after = decode(file.after, blobs);
  if (before === BINARY || after === BINARY) return { path: file.path, ...NOTHING, binary: true };
  return { path: file.path, ...NOTHING, before, after, diff: await diffText(before ?? '', after ?? '') };
}

const NOTHING = { before: null, after: null, diff: [], binary: false, truncated: false } as const;
const BINARY = Symbol('binary');

/** The files, from the first on, whose bytes fit into one answer. */
async function fittingFiles(deps: Deps, workspaceId: string, files: readonly FileShas[]): Promise<FileShas[]> {
  const rows = await deps.db.query<{ sha: string; size: number }>({
    name: 'blob-sizes',
    text: 'SELECT sha, size FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
    values: [workspaceId, [...new Set(files.flatMap(shasOf))]],
  });
  const sizes = new Map(rows.map(({ sha, size }) => [sha, size]));
  let total = 0;
  return files.filter((file) => {
    for (const sha of shasOf(file)) total += sizes.get(sha) ?? 0;
    return total <= MAX_BYTES;
  });
}

function shasOf({ before, after }: FileShas): string[] {
  return [before, after].filter((sha) => sha !== null);
}

function decode(sha: string | null, blobs: ReadonlyMap<string, Uint8Array>): string | null | typeof BINARY {
  if (sha === null) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(blobs.get(sha));
    return text.includes('\0') ? BINARY : text;
  } catch {
    return BINARY;
  }
}
