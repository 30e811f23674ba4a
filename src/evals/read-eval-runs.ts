import type { CaseView, EvalRunList, EvalRunSummary, EvalRunView } from '../contract/evals.js';
import type { Deps } from '../deps.js';
import type { Sql } from '../platform/db/contract.js';
import { timeCursors } from '../shared/cursor.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { EVAL_RUNS, type EvalRunRow, resultsOf, summaryOf } from './eval-run-rows.js';
import { findEval } from './find-eval.js';

const cursors = timeCursors('eval-runs');

/** The newest run of each eval, by the eval's name. */
export async function lastRuns(
  sql: Sql,
  workspaceId: string,
  evals: readonly string[],
): Promise<Map<string, EvalRunSummary>> {
  const rows = await sql.query<EvalRunRow>(
    `${EVAL_RUNS} WHERE e.id IN (SELECT (SELECT x.id FROM eval_run x WHERE x.workspace_id = $1 AND x.eval = n.name
      ORDER BY x.created_at DESC, x.id DESC LIMIT 1) FROM unnest($2::text[]) AS n (name))`,
    [workspaceId, evals],
  );
  return new Map(rows.map((row) => [row.eval, summaryOf(row)]));
}

interface ListEvalRunsInput {
  readonly workspace: string;
  readonly eval: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The runs of an eval, newest first, in pages. */
export async function listEvalRuns(deps: Deps, caller: Caller, input: ListEvalRunsInput): Promise<EvalRunList> {
  const workspace = await findEval(deps.db, caller, input);
  const after = cursors.read(input.cursor);
  const rows = await deps.db.query<EvalRunRow>(
    `${EVAL_RUNS} WHERE e.workspace_id = $1 AND e.eval = $2 AND ($3::timestamptz IS NULL OR (e.created_at, e.id) < ($3, $4))
      ORDER BY e.created_at DESC, e.id DESC LIMIT $5`,
    [workspace.id, input.eval, after?.at ?? null, after?.id ?? null, input.limit + 1],
  );
  const { page, next } = cursors.page(rows, input.limit, ({ createdAt: at, id }) => ({ at, id }));
  return { runs: page.map(summaryOf), next };
}

interface ReadEvalRunInput {
  readonly workspace: string;
  readonly eval: string;
  readonly id: string;
  /** Another run of the same eval to compare with. */
  readonly compare?: string | undefined;
}

/** One run of an eval with each case. `compare` adds the changes since another run. */
export async function readEvalRun(deps: Deps, caller: Caller, input: ReadEvalRunInput): Promise<EvalRunView> {
  const workspace = await findEval(deps.db, caller, input);
  const { summary, cases } = resultsOf(await readRow(deps.db, workspace.id, input));
  if (input.compare === undefined) return { ...summary, cases };
  const other = resultsOf(await readRow(deps.db, workspace.id, { ...input, id: input.compare }));
  return { ...summary, cases, comparison: { with: other.summary, cases: compareRuns(other.cases, cases) } };
}

async function readRow(
  sql: Sql,
  workspaceId: string,
  { eval: name, id }: Pick<ReadEvalRunInput, 'eval' | 'id'>,
): Promise<EvalRunRow> {
  const isId = /^[0-9a-z]{1,40}$/.test(id);
  const [row] = isId
    ? await sql.query<EvalRunRow>(`${EVAL_RUNS} WHERE e.workspace_id = $1 AND e.eval = $2 AND e.id = $3`, [
        workspaceId,
        name,
        id,
      ])
    : [];
  if (!row) throw notFound('eval run');
  return row;
}

type CaseChange = NonNullable<EvalRunView['comparison']>['cases'][number];

/** Compares two runs of an eval case by case. Cases are matched by title. */
function compareRuns(was: readonly CaseView[], now: readonly CaseView[]): CaseChange[] {
  const before = new Map(was.map((one) => [one.name, one]));
  const after = new Set(now.map(({ name }) => name));
  return [
    ...now.map((one) => changeOf(before.get(one.name), one)),
    ...was.filter(({ name }) => !after.has(name)).map((one) => changeOf(one, undefined)),
  ];
}

function changeOf(was: CaseView | undefined, now: CaseView | undefined): CaseChange {
  const change = !was ? 'added' : !now ? 'removed' : changeBetween(was.passed, now.passed);
  return { name: (now ?? was)?.name ?? '', change, was: resultOf(was), now: resultOf(now) };
}

function changeBetween(was: boolean | null, now: boolean | null): CaseChange['change'] {
  if (was === null || now === null) return 'unknown';
  if (was === now) return 'same';
  return now ? 'fixed' : 'broken';
}

function resultOf(one: CaseView | undefined): CaseChange['was'] {
  if (!one) return null;
  const { passed, score, costUsd, runId } = one;
  return { passed, score, costUsd, runId };
}
