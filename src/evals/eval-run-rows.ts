import type { CaseView, EvalRunSummary } from '../contract/evals.js';
import type { EvalPlan } from '../format/index.js';
import type { Json } from '../shared/json.js';
import { type AttemptRow, caseViews, tallyOf } from './case-views.js';

export interface EvalRunRow {
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

/** SQL: eval runs `e`, each with its attempts. */
export const EVAL_RUNS = `SELECT e.id, e.eval, e.status, e.trigger, e.revision, e.started_by AS "startedBy", e.error, e.spec,
    e.created_at AS "createdAt", e.started_at AS "startedAt", e.finished_at AS "finishedAt",
    (SELECT jsonb_agg(jsonb_build_object('caseNo', a.case_no, 'repeat', a.repeat, 'state', a.state, 'passed', a.passed,
        'score', a.score, 'assertions', a.assertions, 'error', a.error, 'runId', a.run_id, 'costNano', CASE
          WHEN a.finished_at IS NULL THEN a.judge_nano + coalesce((SELECT r.spent_nano FROM run r WHERE r.id = a.run_id), 0)
          ELSE a.cost_nano END::text) ORDER BY a.k)
      FROM eval_attempt a WHERE a.eval_run_id = e.id) AS attempts
  FROM eval_run e`;

/** An eval run with its cases. */
export interface EvalRunResults {
  readonly summary: EvalRunSummary;
  readonly cases: readonly CaseView[];
}

export function resultsOf(row: EvalRunRow): EvalRunResults {
  const { spec, attempts, createdAt, startedAt, finishedAt, ...run } = row;
  const cases = caseViews(
    spec,
    (attempts ?? []).map((one) => ({ ...one, costNano: BigInt(one.costNano) })),
  );
  const tally = tallyOf(cases);
  const summary = {
    ...run,
    ...tally,
    ok: finishedAt === null ? null : run.status === 'completed' && tally.failed === 0,
    costUsd: cases.reduce((sum, { costUsd }) => sum + costUsd, 0),
    createdAt: createdAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
  };
  return { summary, cases };
}

export function summaryOf(row: EvalRunRow): EvalRunSummary {
  return resultsOf(row).summary;
}
