import type { PushState } from '../contract/code-host.js';
import type { Deps } from '../deps.js';
import { type PageInput, timeCursors } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import type { CodeHostKind } from './hosts/index.js';

export interface PushView {
  readonly id: string;
  readonly at: Date;
  readonly state: PushState;
  /** Why it waits, was refused or failed. */
  readonly detail: string | null;
  /** This and the next fields are null for an unsigned request. */
  readonly host: CodeHostKind | null;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly dir: string | null;
  readonly commit: string | null;
  readonly message: string | null;
  readonly authors: readonly string[];
  /** The revision in history. */
  readonly revision: string | null;
  readonly tries: number;
  /** The time of the next attempt. */
  readonly nextAt: Date | null;
  readonly address: string | null;
}

const cursors = timeCursors('pushes');

/** The stored pushes of code hosts with their outcomes, newest first. */
export async function listPushes(
  deps: Deps,
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<{ readonly pushes: readonly PushView[]; readonly next: string | null }> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const after = cursors.read(input.cursor);
  const rows = await deps.db.query<PushView>({
    name: 'list-code-pushes',
    text: `SELECT id, at, state, detail, host, repository, branch, dir, commit, message, coalesce(authors, '{}') AS authors, revision,
        tries, address,
        CASE WHEN ended_at IS NULL THEN due_at END AS "nextAt"
      FROM code_push WHERE workspace_id = $1 AND ($2::timestamptz IS NULL OR (at, id) < ($2, $3))
      ORDER BY at DESC, id DESC LIMIT $4`,
    values: [id, after?.at ?? null, after?.id ?? null, input.limit + 1],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ at, id: push }) => ({ at, id: push }));
  return { pushes: page, next };
}
