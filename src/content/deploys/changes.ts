import type { Change, ChangeDetailBody, ChangeListBody } from '../../contract/history.js';
import type { Deps } from '../../deps.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { numberCursors } from '../../shared/cursor.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { readBlobs } from '../workspaces/live-tree.js';
import { type BlobSource, type FileShas, readFileChanges } from './edit-source.js';
import { requirePath } from './require-path.js';

const cursors = numberCursors('changes', 18);

/** A change as its row has it. */
interface ChangeRow extends Omit<Change, 'at'> {
  readonly seq: bigint;
  readonly at: Date;
}

interface ListChangesInput {
  readonly path?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Columns of a change and its revision, for `change c LEFT JOIN revision r`. */
const CHANGE_COLUMNS = `c.seq, c.id, c.at, c.by, c.via, c.message, c.paths, c.run_id AS "runId", c.commit, c.refused, r.git_commit AS "gitCommit"`;

const CHANGE_JOIN = 'change c LEFT JOIN revision r ON r.workspace_id = c.workspace_id AND r.seq = c.revision_seq';

/** The history of a workspace, newest first. */
export async function listChanges(
  deps: Deps,
  caller: Caller,
  input: ListChangesInput & { readonly workspace: string },
): Promise<ChangeListBody> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  return listChangesOf(deps, id, input);
}

/** The history of a workspace or of an account's library, by its id. */
export async function listChangesOf(deps: Deps, id: string, input: ListChangesInput): Promise<ChangeListBody> {
  if (input.path !== undefined) requirePath(input.path);
  const rows = await deps.db.query<ChangeRow>({
    name: 'list-changes',
    text: `SELECT ${CHANGE_COLUMNS} FROM ${CHANGE_JOIN}
      WHERE c.workspace_id = $1 AND ($2::bigint IS NULL OR c.seq < $2) AND ($3::text IS NULL OR $3 = ANY(c.paths))
      ORDER BY c.seq DESC LIMIT $4`,
    values: [id, cursors.read(input.cursor), input.path ?? null, input.limit + 1],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ seq }) => seq);
  return { changes: page.map(toChange), next };
}

function toChange({ seq: _seq, at, ...change }: ChangeRow): Change {
  return { ...change, at: at.toISOString() };
}

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
