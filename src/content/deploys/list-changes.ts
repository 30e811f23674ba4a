import type { Change, ChangeListBody } from '../../contract/history.js';
import type { Deps } from '../../deps.js';
import { findWorkspace } from '../../people/index.js';
import { numberCursors } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { requirePath } from './require-path.js';

const cursors = numberCursors('changes', 18);

/** A change as its row has it. */
export interface ChangeRow extends Omit<Change, 'at'> {
  readonly seq: bigint;
  readonly at: Date;
}

export interface ListChangesInput {
  readonly path?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Columns of a change and its revision, for `change c LEFT JOIN revision r`. */
export const CHANGE_COLUMNS = `c.seq, c.id, c.at, c.by, c.via, c.message, c.paths, c.run_id AS "runId", c.commit, c.refused, r.git_commit AS "gitCommit"`;
export const CHANGE_JOIN =
  'change c LEFT JOIN revision r ON r.workspace_id = c.workspace_id AND r.seq = c.revision_seq';

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

export function toChange({ seq: _seq, at, ...change }: ChangeRow): Change {
  return { ...change, at: at.toISOString() };
}
