import { loadPlan } from '../../content/index.js';
import type { GradedAssertion } from '../../contract/evals.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { storableJson } from '../../shared/storable-json.js';
import type { CaseEvidence, Finding } from '../grade/evidence.js';
import { assertionsOf, failedUnasked, type Plan as GradePlan, gradeCase, scoreOf } from '../grade/grade-case.js';
import { readEvidence } from '../grade/read-evidence.js';
import { askJudge, judgeFault } from './ask-judge.js';
import { type AttemptRow, failAttempt, readAttempt } from './attempt-row.js';

/**
 * Grades an attempt whose run has ended, once; returns `open` while it has not. Only a full set of findings is a pass.
 */
export async function gradeAttempt(
  deps: Deps,
  { evalRunId, k }: { readonly evalRunId: string; readonly k: number },
  signal: AbortSignal,
): Promise<'open' | 'graded'> {
  const attempt = await readAttempt(deps.db, { evalRunId, k });
  if (!attempt || attempt.over || attempt.state !== 'running') return 'graded';
  const state = await stateOf(deps.db, attempt);
  if (state === 'live') return 'open';
  if (state === 'gone') await failAttempt(deps.db, attempt, 'its run was deleted before it was graded');
  else await grade(deps, attempt, signal);
  return 'graded';
}

async function stateOf(sql: Sql, { runId }: AttemptRow): Promise<'live' | 'ended' | 'gone'> {
  const [run] = await sql.query<{ ended: boolean }>('SELECT finished_at IS NOT NULL AS ended FROM run WHERE id = $1', [
    runId,
  ]);
  if (!run) return 'gone';
  return run.ended ? 'ended' : 'live';
}

async function grade(deps: Deps, attempt: AttemptRow, signal: AbortSignal): Promise<void> {
  const { runId, parked } = attempt;
  const plan = await loadPlan(deps, attempt.workspaceId, attempt.planId);
  const evidence = await readEvidence(deps.db, { runId: runId ?? '', plan, parked: parked ?? [] });
  if (evidence.stopped) return failAttempt(deps.db, attempt, `its run was stopped: ${evidence.error}`);
  const asked = assertionsOf(attempt.spec.cases[attempt.caseNo]?.expect ?? []);
  const judged = await judge(deps, { attempt, evidence, signal, plan }, asked);
  const graded = gradeCase(evidence, asked.assertions, judged.findings);
  if (judged.fault !== null) {
    await storeAssertions(deps.db, attempt, graded);
    return failAttempt(deps.db, attempt, judged.fault);
  }
  await finish(deps.db, attempt, graded);
}

type Judging = Parameters<typeof askJudge>[1] & { readonly evidence: CaseEvidence };

async function judge(
  deps: Deps,
  at: Judging,
  { assertions, statements }: GradePlan,
): Promise<{ readonly findings: ReadonlyMap<number, Finding>; readonly fault: string | null }> {
  if (statements.length === 0 || failedUnasked(at.evidence, assertions)) return { findings: new Map(), fault: null };
  try {
    return { findings: await askJudge(deps, at, statements), fault: null };
  } catch (error) {
    const fault = judgeFault(error);
    if (fault === null) throw error;
    return { findings: new Map(statements.map((one) => [one.at, { holds: null, evidence: fault }])), fault };
  }
}

async function storeAssertions(
  sql: Sql,
  { evalRunId, k }: AttemptRow,
  graded: readonly GradedAssertion[],
): Promise<void> {
  await sql.query(
    `UPDATE eval_attempt SET assertions = $3::jsonb WHERE eval_run_id = $1 AND k = $2 AND state = 'running'`,
    [evalRunId, k, storableJson(graded)],
  );
}

async function finish(sql: Sql, { evalRunId, k }: AttemptRow, graded: readonly GradedAssertion[]): Promise<void> {
  const score = scoreOf(graded);
  await sql.query(
    `UPDATE eval_attempt a SET state = 'graded', passed = $3, score = $4, assertions = $5::jsonb, finished_at = now(),
        cost_nano = judge_nano + (SELECT spent_nano FROM run WHERE id = a.run_id)
      WHERE eval_run_id = $1 AND k = $2 AND state = 'running'`,
    [evalRunId, k, graded.length > 0 && graded.every(({ passed }) => passed), score, storableJson(graded)],
  );
}
