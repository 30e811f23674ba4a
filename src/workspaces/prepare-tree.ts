import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { blobId, unwritablePaths } from '../git/index.js';
import type { Issue, SourceFile, Workspace } from '../workspace/index.js';

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
  const checked = await deps.checker.check(files, { livePaths, secrets: null, models: deps.models.known() });
  const issues = [...checked.issues, ...unwritable(files, checked.issues)].sort(byPlace);
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

/** What git cannot hold and the checker let pass: a file where another path has a folder, say. */
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
