import type { Deps } from '../../deps.js';
import type { CheckContext, Issue, SourceFile, Workspace } from '../../format/index.js';
import { blobId, unwritablePaths } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { type LiveShared, readSharedFiles } from './library-tree.js';
import { urlIssues } from './refuse-urls.js';

export interface PreparedFile {
  readonly sha: string;
  readonly content: Uint8Array;
}

/** A whole tree, read and checked; `workspace` is null exactly when an issue is an error. */
export interface PreparedTree {
  readonly files: ReadonlyMap<string, PreparedFile>;
  readonly issues: readonly Issue[];
  readonly workspace: Workspace | null;
  /** The revision of the library that it was checked against. */
  readonly librarySeq: number;
}

/** What a tree may refer to besides its own files. */
export interface InReach extends Pick<CheckContext, 'livePaths' | 'secrets'> {
  readonly library: LiveShared;
}

/** Reads and checks a whole tree. Changes nothing. */
export async function prepareTree(
  deps: Pick<Deps, 'checker' | 'models' | 'config' | 'net'>,
  files: readonly (SourceFile & { readonly sha?: string })[],
  { livePaths, secrets, library }: InReach,
): Promise<PreparedTree> {
  const context = { livePaths, secrets, models: deps.models.known(), openHosts: deps.config.allowHosts };
  const checked = await deps.checker.check(files, context, library);
  const found = [...checked.issues, ...urlIssues(deps, checked.urls)];
  const issues = [...found, ...unwritable(files, found)].sort(byPlace);
  return {
    files: new Map(files.map(({ path, content, sha = blobId(content) }) => [path, { sha, content }])),
    issues,
    workspace: issues.some(isError) ? null : checked.workspace,
    librarySeq: library.seq,
  };
}

/** The account's library, produced files of the workspace, and secrets in reach. */
export async function readInReach(sql: Sql, tenant: string, workspaceId: string | null): Promise<InReach> {
  return {
    library: await readSharedFiles(sql, tenant),
    livePaths: workspaceId === null ? [] : await readLivePaths(sql, workspaceId),
    secrets: await readSecretNames(sql, tenant, workspaceId),
  };
}

/** Names in the account's vault and the workspace's; a preview reads that of the workspace that it previews. */
async function readSecretNames(sql: Sql, tenant: string, workspaceId: string | null): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>({
    name: 'secret-names',
    text: `SELECT DISTINCT name FROM secret WHERE tenant_id = $1 AND (workspace_id IS NULL
      OR workspace_id = coalesce((SELECT preview_of FROM workspace WHERE id = $2), $2))`,
    values: [tenant, workspaceId],
  });
  return rows.map(({ name }) => name);
}

/** Paths under memory/, storage/, files/, outputs/ and state/ that exist outside the tree, for links to resolve. */
async function readLivePaths(sql: Sql, workspaceId: string): Promise<readonly string[]> {
  const rows = await sql.query<{ path: string }>({
    name: 'live-paths',
    text: `SELECT path FROM memory_file WHERE workspace_id = $1
      UNION ALL SELECT path FROM storage_entry WHERE workspace_id = $1
      UNION ALL SELECT path FROM flow_states($1)`,
    values: [workspaceId],
  });
  return rows.map(({ path }) => path);
}

/** Paths that git cannot store and the checker accepts, such as a file where another path has a folder. */
function unwritable(files: readonly SourceFile[], found: readonly Issue[]): Issue[] {
  const refused = new Set(found.filter(isError).map(({ path }) => path));
  const faults = [...unwritablePaths(files.map(({ path }) => path))].filter(([path]) => !refused.has(path));
  return faults.map(([path, message]): Issue => {
    return { path, line: 1, column: 1, code: 'file/bad-path', severity: 'error', message };
  });
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}

function byPlace(a: Issue, b: Issue): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
