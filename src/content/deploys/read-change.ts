import type { ChangeDetailBody } from '../../contract/history.js';
import type { Deps } from '../../deps.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { readBlobs } from '../workspaces/read-blobs.js';
import { type BlobSource, type FileShas, readFileChanges } from './file-changes.js';
import { CHANGE_COLUMNS, CHANGE_JOIN, type ChangeRow, toChange } from './list-changes.js';
import { requirePath } from './require-path.js';

/** One change with its files, by its id, its git commit or the id that its caller gave; `path` limits it to one file. */
export async function readChange(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly id: string; readonly path?: string | undefined },
): Promise<ChangeDetailBody> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  return readChangeOf(deps, id, input);
}

/** One change of a workspace or of an account's library, given its id. */
export async function readChangeOf(
  deps: Deps,
  workspaceId: string,
  input: { readonly id: string; readonly path?: string | undefined },
): Promise<ChangeDetailBody> {
  if (input.path !== undefined) requirePath(input.path);
  const [row] = await deps.db.query<ChangeRow & { readonly files: readonly FileShas[] }>({
    name: 'read-change',
    text: `SELECT ${CHANGE_COLUMNS}, c.files FROM ${CHANGE_JOIN}
      WHERE c.workspace_id = $1 AND (c.id = $2 OR r.git_commit = $2 OR c.commit = $2)
      ORDER BY (c.id = $2) DESC, (r.git_commit = $2) IS TRUE DESC, c.seq DESC LIMIT 1`,
    values: [workspaceId, input.id],
  });
  if (!row) throw notFound('change');
  const { files, ...change } = row;
  const wanted = files.filter(({ path }) => input.path === undefined || path === input.path);
  return { ...toChange(change), files: await readFileChanges(wanted, blobsOf(deps.db, workspaceId)) };
}

/** The blobs of a workspace's revisions. */
function blobsOf(sql: Sql, workspaceId: string): BlobSource {
  return {
    sizes: async (shas) => {
      const rows = await sql.query<{ sha: string; size: number }>({
        name: 'blob-sizes',
        text: 'SELECT sha, size FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
        values: [workspaceId, shas],
      });
      return new Map(rows.map(({ sha, size }) => [sha, size]));
    },
    read: (shas) => readBlobs(sql, workspaceId, shas),
  };
}
