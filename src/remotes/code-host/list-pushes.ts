import type { CodePush, CodePushes } from '../../contract/code-host.js';
import type { Deps } from '../../deps.js';
import { findWorkspace } from '../../people/index.js';
import { type PageInput, timeCursors } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';

interface Row extends Omit<CodePush, 'at' | 'nextAt'> {
  readonly at: Date;
  readonly nextAt: Date | null;
}

const cursors = timeCursors('pushes');

/** The stored pushes of code hosts with their outcomes, newest first. */
export async function listPushes(
  deps: Deps,
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<CodePushes> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const after = cursors.read(input.cursor);
  const rows = await deps.db.query<Row>({
    name: 'list-code-pushes',
    text: `SELECT id, at, state, detail, host, repository, branch, dir, commit, message, coalesce(authors, '{}') AS authors, revision,
        tries, address,
        CASE WHEN ended_at IS NULL THEN due_at END AS "nextAt"
      FROM code_push WHERE workspace_id = $1 AND ($2::timestamptz IS NULL OR (at, id) < ($2, $3))
      ORDER BY at DESC, id DESC LIMIT $4`,
    values: [id, after?.at ?? null, after?.id ?? null, input.limit + 1],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ at, id: push }) => ({ at, id: push }));
  return { pushes: page.map(toPush), next };
}

function toPush(row: Row): CodePush {
  return { ...row, at: row.at.toISOString(), nextAt: row.nextAt?.toISOString() ?? null };
}
