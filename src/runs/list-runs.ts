import type { Deps } from '../deps.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import { RUN_COLUMNS, type RunRow, type RunSummary, summaryOf } from './run-summary.js';

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
  const after = input.cursor === undefined ? null : readCursor(input.cursor);
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
  const page = rows.slice(0, input.limit);
  const last = page.at(-1);
  const next = rows.length > input.limit && last ? `${last.createdAt.getTime()}.${last.id}` : null;
  return { runs: page.map(summaryOf), next };
}

function readCursor(cursor: string): { at: Date; id: string } {
  const match = /^(\d{1,15})\.([0-9a-z]{1,40})$/.exec(cursor);
  if (!match) throw new Refusal('refused', 'cursor: take it as `next` gave it');
  return { at: new Date(Number(match[1])), id: match[2] ?? '' };
}
