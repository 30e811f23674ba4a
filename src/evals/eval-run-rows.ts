import type { AttemptView, CaseView, EvalRunSummary, GradedAssertion } from '../contract/evals.js';
import type { EvalPlan } from '../format/index.js';
import type { InJson, TableRow } from '../platform/db/contract.js';
import { isRecord } from '../shared/json.js';
import { toUsd } from '../shared/money.js';

export interface EvalRunRow
  extends Pick<
    TableRow<'EvalRun'>,
    'id' | 'eval' | 'revision' | 'startedBy' | 'error' | 'createdAt' | 'startedAt' | 'finishedAt'
  > {
  readonly status: EvalRunSummary['status'];
  readonly trigger: EvalRunSummary['trigger'];
  readonly spec: EvalPlan;
  readonly attempts: readonly InJson<ShownAttempt>[] | null;
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
interface EvalRunResults {
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

interface ShownAttempt
  extends Pick<
    TableRow<'EvalAttempt'>,
    'caseNo' | 'repeat' | 'passed' | 'score' | 'assertions' | 'error' | 'runId' | 'costNano'
  > {
  readonly state: AttemptView['state'] | 'skipped';
}

/** The cases of an eval run, in the order of its file. */
function caseViews(spec: EvalPlan, rows: readonly ShownAttempt[]): CaseView[] {
  const byCase = new Map<number, ShownAttempt[]>();
  for (const row of rows) byCase.set(row.caseNo, [...(byCase.get(row.caseNo) ?? []), row]);
  return [...byCase].sort(([a], [b]) => a - b).map(([at, own]) => caseView(spec, at, own));
}

function caseView({ cases }: EvalPlan, at: number, rows: readonly ShownAttempt[]): CaseView {
  const { title = `case ${at + 1}`, tags = [], threshold = 1 } = cases[at] ?? {};
  const attempts = rows.flatMap(({ state, ...row }) => (state === 'skipped' ? [] : [attemptView({ ...row, state })]));
  const done = attempts.length > 0 && attempts.every(({ passed }) => passed !== null);
  const passRate = done ? attempts.filter(({ passed }) => passed).length / attempts.length : null;
  const shownAttempt = attempts.find(({ passed }) => passed === false) ?? attempts[0];
  const begun = attempts.some(({ state }) => state !== 'pending');
  return {
    name: title,
    tags,
    state: attempts.length === 0 ? 'skipped' : done ? 'done' : begun ? 'running' : 'pending',
    passed: passRate === null ? null : passRate >= threshold,
    score: done ? attempts.reduce((sum, { score }) => sum + (score ?? 0), 0) / attempts.length : null,
    passRate,
    threshold,
    assertions: shownAttempt?.assertions ?? [],
    error: shownAttempt?.error ?? null,
    runId: shownAttempt?.runId ?? null,
    costUsd: attempts.reduce((sum, { costUsd }) => sum + costUsd, 0),
    ...(attempts.length > 1 ? { repeats: attempts } : {}),
  };
}

function attemptView(row: Omit<ShownAttempt, 'state'> & Pick<AttemptView, 'state'>): AttemptView {
  const { repeat, state, passed, score, error, runId } = row;
  const assertions = Array.isArray(row.assertions) ? row.assertions.filter(isRecord) : [];
  return {
    repeat,
    state,
    passed,
    score,
    assertions: assertions as unknown as readonly GradedAssertion[],
    error,
    runId,
    costUsd: toUsd(row.costNano),
  };
}

type Tally = Pick<EvalRunSummary, 'cases' | 'passed' | 'failed' | 'skipped'>;

function tallyOf(cases: readonly CaseView[]): Tally {
  return {
    cases: cases.length,
    passed: cases.filter(({ passed }) => passed === true).length,
    failed: cases.filter(({ passed }) => passed === false).length,
    skipped: cases.filter(({ state }) => state === 'skipped').length,
  };
}
