import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import type { Json } from '../shared/json.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { EvalPlan } from '../workspace/index.js';
import { type AttemptRow, type CaseView, caseViews, type Tally, tallyOf } from './case-views.js';
import { type CaseChange, compareRuns } from './compare-runs.js';
import { findEval } from './find-eval.js';

export interface EvalRunSummary extends Tally {
  readonly id: string;
  readonly eval: string;
  readonly status: 'queued' | 'running' | 'completed' | 'stopped' | 'failed';
  /** Whether every case passed; null until it has ended. */
  readonly ok: boolean | null;
  readonly trigger: 'manual' | 'push';
  readonly revision: string;
  readonly startedBy: Json;
  readonly error: string | null;
  readonly costUsd: number;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

interface Row {
  readonly id: string;
  readonly eval: string;
  readonly status: EvalRunSummary['status'];
  readonly trigger: EvalRunSummary['trigger'];
  readonly revision: string;
  readonly startedBy: Json;
  readonly error: string | null;
  readonly spec: EvalPlan;
  readonly attempts: readonly (Omit<AttemptRow, 'costNano'> & { readonly costNano: string })[] | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

const ROWS = `SELECT e.id, e.eval, e.status, e.trigger, e.revision, e.started_by AS "startedBy", e.error, e.spec,
    e.created_at AS "createdAt", e.started_at AS "startedAt", e.finished_at AS "finishedAt",
    (SELECT jsonb_agg(jsonb_build_object('caseNo', a.case_no, 'repeat', a.repeat, 'state', a.state, 'passed', a.passed,
        'score', a.score, 'assertions', a.assertions, 'error', a.error, 'runId', a.run_id, 'costNano', CASE
          WHEN a.finished_at IS NULL THEN a.judge_nano + coalesce((SELECT r.spent_nano FROM run r WHERE r.id = a.run_id), 0)
          ELSE a.cost_nano END::text) ORDER BY a.k)
      FROM eval_attempt a WHERE a.eval_run_id = e.id) AS attempts
  FROM eval_run e`;

function viewOf(row: Row): EvalRunView {
  const { spec, attempts, ...run } = row;
  const cases = caseViews(
    spec,
    (attempts ?? []).map((one) => ({ ...one, costNano: BigInt(one.costNano) })),
  );
  const tally = tallyOf(cases);
  return {
    ...run,
    ...tally,
    ok: run.finishedAt === null ? null : run.status === 'completed' && tally.failed === 0,
    costUsd: cases.reduce((sum, { costUsd }) => sum + costUsd, 0),
    results: cases,
  };
}

interface EvalRunView extends EvalRunSummary {
  readonly results: readonly CaseView[];
}

function summaryOf(row: Row): EvalRunSummary {
  const { results: _results, ...summary } = viewOf(row);
  return summary;
}

/** The newest run of each eval, by the eval's name. */
export async function lastRuns(
  sql: Sql,
  workspaceId: string,
  evals: readonly string[],
): Promise<Map<string, EvalRunSummary>> {
  const rows = await sql.query<Row>(
    `${ROWS} WHERE e.id IN (SELECT (SELECT x.id FROM eval_run x WHERE x.workspace_id = $1 AND x.eval = n.name
      ORDER BY x.created_at DESC, x.id DESC LIMIT 1) FROM unnest($2::text[]) AS n (name))`,
    [workspaceId, evals],
  );
  return new Map(rows.map((row) => [row.eval, summaryOf(row)]));
}

export interface ListEvalRunsInput {
  readonly workspace: string;
  readonly eval: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The runs of an eval, newest first, in pages. */
export async function listEvalRuns(
  deps: Deps,
  caller: Caller,
  input: ListEvalRunsInput,
): Promise<{ readonly runs: readonly EvalRunSummary[]; readonly next: string | null }> {
  const workspace = await findEval(deps.db, caller, input);
  const after = input.cursor === undefined ? null : readCursor(input.cursor);
  const rows = await deps.db.query<Row>(
    `${ROWS} WHERE e.workspace_id = $1 AND e.eval = $2 AND ($3::timestamptz IS NULL OR (e.created_at, e.id) < ($3, $4))
      ORDER BY e.created_at DESC, e.id DESC LIMIT $5`,
    [workspace.id, input.eval, after?.at ?? null, after?.id ?? null, input.limit + 1],
  );
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

export interface ReadEvalRunInput {
  readonly workspace: string;
  readonly eval: string;
  readonly id: string;
  /** Another run of the same eval to compare it with. */
  readonly compare?: string | undefined;
}

export interface WholeEvalRun extends Omit<EvalRunView, 'cases' | 'results'> {
  /** In the order of the file. */
  readonly cases: readonly CaseView[];
  readonly comparison?: { readonly with: EvalRunSummary; readonly cases: readonly CaseChange[] };
}

/** One run of an eval, with each case; `compare` adds what changed since another one. */
export async function readEvalRun(deps: Deps, caller: Caller, input: ReadEvalRunInput): Promise<WholeEvalRun> {
  const workspace = await findEval(deps.db, caller, input);
  const { results, ...run } = viewOf(await readRow(deps.db, workspace.id, input));
  if (input.compare === undefined) return { ...run, cases: results };
  const other = viewOf(await readRow(deps.db, workspace.id, { ...input, id: input.compare }));
  const { results: before, ...summary } = other;
  return { ...run, cases: results, comparison: { with: summary, cases: compareRuns(before, results) } };
}

async function readRow(
  sql: Sql,
  workspaceId: string,
  { eval: name, id }: Pick<ReadEvalRunInput, 'eval' | 'id'>,
): Promise<Row> {
  const isId = /^[0-9a-z]{1,40}$/.test(id);
  const [row] = isId
    ? await sql.query<Row>(`${ROWS} WHERE e.workspace_id = $1 AND e.eval = $2 AND e.id = $3`, [workspaceId, name, id])
    : [];
  if (!row) throw notFound('eval run');
  return row;
}
