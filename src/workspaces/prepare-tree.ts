import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { blobId, unwritablePaths } from '../git/index.js';
import { type Issue, isProtectedPath, type SourceFile, type Workspace } from '../workspace/index.js';

export interface PreparedFile {
  readonly sha: string;
  readonly content: Uint8Array;
}

/** A whole tree, read and checked; `workspace` is null exactly when an issue is an error. */
export interface PreparedTree {
  readonly files: ReadonlyMap<string, PreparedFile>;
  readonly issues: readonly Issue[];
  readonly workspace: Workspace | null;
}

/** Reads and checks a whole tree. Changes nothing. */
export async function prepareTree(
  deps: Pick<Deps, 'checker' | 'models'>,
  files: readonly SourceFile[],
  livePaths: readonly string[],
): Promise<PreparedTree> {
  const own = pathIssues(files);
  const carried = files.filter(({ path }) => !isProtectedPath(path));
  const checked = await deps.checker.check(carried, { livePaths, secrets: null, models: deps.models.known() });
  // The checker says more of a bad path than we can: its word comes first.
  const refusedPaths = new Set(checked.issues.filter(isError).map(({ path }) => path));
  const issues = [...checked.issues, ...own.filter(({ path }) => !refusedPaths.has(path))].sort(byPlace);
  return {
    files: new Map(files.map(({ path, content }) => [path, { sha: blobId(content), content }])),
    issues,
    workspace: issues.some(isError) ? null : checked.workspace,
  };
}

/** Paths under memory/, storage/, files/, outputs/ and state/ that exist outside the tree, for links to resolve. */
export async function readLivePaths(sql: Sql, workspaceId: string): Promise<readonly string[]> {
  const rows = await sql.query<{ path: string }>({
    name: 'live-paths',
    text: `SELECT path FROM memory_file WHERE workspace_id = $1
      UNION ALL SELECT path FROM storage_entry WHERE workspace_id = $1`,
    values: [workspaceId],
  });
  return rows.map(({ path }) => path);
}

function pathIssues(files: readonly SourceFile[]): Issue[] {
  const paths = files.map(({ path }) => path);
  const issues = paths
    .filter(isProtectedPath)
    .map((path) =>
      pathIssue(
        path,
        'tree/protected-path',
        'this path is kept by the service: a deploy never carries it; leave the file out',
      ),
    );
  for (const [path, message] of unwritablePaths(paths)) issues.push(pathIssue(path, 'file/bad-path', message));
  return issues;
}

function pathIssue(path: string, code: string, message: string): Issue {
  return { path, line: 1, column: 1, code, severity: 'error', message };
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}

function byPlace(a: Issue, b: Issue): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
