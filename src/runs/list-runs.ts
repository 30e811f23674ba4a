import type { Deps } from '../deps.js';
import { timeCursors } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import { RUN_COLUMNS, type RunRow, type RunSummary, summaryOf } from './run-summary.js';

const cursors = timeCursors('runs');

export interface ListRunsInput {
  readonly workspace: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly flow?: string | undefined;
  readonly status?: string | undefined;
  readonly tag?: string | undefined;
  /** Runs of evals are listed when they are asked for. */
  readonly mode?: 'normal' | 'eval' | 'all' | undefined;
}

/** Runs, newest first, in pages. Child runs of subflows are seen through their parents. */
export async function listRuns(
  deps: Deps,
  caller: Caller,
  input: ListRunsInput,
): Promise<{ readonly runs: readonly RunSummary[]; readonly next: string | null }> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const after = cursors.read(input.cursor);
  const rows = await deps.db.query<RunRow>({
    name: 'list-runs',
    text: `SELECT ${RUN_COLUMNS} FROM run WHERE workspace_id = $1 AND parent_id IS NULL
      AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3)) AND ($4::text IS NULL OR flow = $4)
      AND ($5::text IS NULL OR status = $5) AND ($6::text IS NULL OR $6 = ANY(tags))
      AND ($8 = 'all' OR mode = $8)
      ORDER BY created_at DESC, id DESC LIMIT $7`,
    values: [
      workspace.id,
      after?.at ?? null,
      after?.id ?? null,
      input.flow ?? null,
      input.status ?? null,
      input.tag ?? null,
      input.limit + 1,
      input.mode ?? 'normal',
    ],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ createdAt: at, id }) => ({ at, id }));
  return { runs: page.map(summaryOf), next };
}
