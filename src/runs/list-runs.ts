import type { RunList, RunStatus } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { findWorkspace } from '../people/index.js';
import { timeCursors } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import { RUN_COLUMNS, type ShownRun, summaryOf } from './run-rows.js';

const cursors = timeCursors('runs');

export interface ListRunsInput {
  readonly workspace: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly flow?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly tag?: string | undefined;
  /** `all` includes eval runs and child runs. The default is `normal`, and `all` when `parent` is given. */
  readonly mode?: 'normal' | 'eval' | 'all' | undefined;
  /** Only the child runs of this run: its subflows and sub-agents. */
  readonly parent?: string | undefined;
}

/** Filters by root, which has an index. */
const OF_PARENT = `root_id = (SELECT p.root_id FROM run p WHERE p.id = $8) AND parent_id = $8
  AND ($9 = 'all' OR mode = $9)`;
const OF_MODE = `$8::text IS NULL AND ($9 = 'all' OR (mode = $9 AND parent_id IS NULL))`;

/** Runs, newest first, in pages. `mode` all includes child runs; `parent` lists those of one run. */
export async function listRuns(deps: Deps, caller: Caller, input: ListRunsInput): Promise<RunList> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const after = cursors.read(input.cursor);
  const rows = await deps.db.query<ShownRun>({
    name: input.parent === undefined ? 'list-runs' : 'list-child-runs',
    text: `SELECT ${RUN_COLUMNS} FROM run WHERE workspace_id = $1 AND ${input.parent === undefined ? OF_MODE : OF_PARENT}
      AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3)) AND ($4::text IS NULL OR flow = $4)
      AND ($5::text IS NULL OR status = $5) AND ($6::text IS NULL OR $6 = ANY(tags))
      ORDER BY created_at DESC, id DESC LIMIT $7`,
    values: [
      workspace.id,
      after?.at ?? null,
      after?.id ?? null,
      input.flow ?? null,
      input.status ?? null,
      input.tag ?? null,
      input.limit + 1,
      input.parent ?? null,
      input.mode ?? (input.parent === undefined ? 'normal' : 'all'),
    ],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ createdAt: at, id }) => ({ at, id }));
  return { runs: page.map(summaryOf), next };
}
