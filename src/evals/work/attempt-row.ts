import type { EvalPlan } from '../../format/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';

/** An attempt with its eval run, as the activities need them. */
export interface AttemptRow
  extends Pick<TableRow<'EvalAttempt'>, 'evalRunId' | 'k' | 'caseNo' | 'repeat' | 'runId'>,
    Pick<
      TableRow<'EvalRun'>,
      'eval' | 'tenantId' | 'workspaceId' | 'revision' | 'librarySeq' | 'planId' | 'startedBy' | 'budgetNano'
    > {
  readonly spec: EvalPlan;
  /** True if the eval run has ended. */
  readonly over: boolean;
  readonly state: 'pending' | 'running' | 'graded' | 'error' | 'skipped';
  readonly parked: readonly { readonly step: string; readonly kind: string }[] | null;
}

const COLUMNS = `a.eval_run_id AS "evalRunId", a.k, e.eval, e.tenant_id AS "tenantId", e.workspace_id AS "workspaceId", e.revision, e.library_seq AS "librarySeq",
  e.plan_id AS "planId", e.started_by AS "startedBy", e.spec, e.budget_nano AS "budgetNano", e.finished_at IS NOT NULL AS over,
  a.case_no AS "caseNo", a.repeat, a.run_id AS "runId", a.state, a.parked`;

/** Null when the eval run is gone, with its workspace. */
export async function readAttempt(
  sql: Sql,
  { evalRunId, k, lock = false }: { readonly evalRunId: string; readonly k: number; readonly lock?: boolean },
): Promise<AttemptRow | null> {
  const [row] = await sql.query<AttemptRow>(
    `SELECT ${COLUMNS} FROM eval_run e JOIN eval_attempt a ON a.eval_run_id = e.id WHERE e.id = $1 AND a.k = $2${lock ? ' FOR UPDATE' : ''}`,
    [evalRunId, k],
  );
  return row ?? null;
}

/** Ends an attempt with an error. One that has ended is left unchanged. */
export async function failAttempt(
  sql: Sql,
  { evalRunId, k }: Pick<AttemptRow, 'evalRunId' | 'k'>,
  error: string,
): Promise<void> {
  await sql.query(
    `UPDATE eval_attempt a SET state = 'error', passed = false, score = 0, error = $3, finished_at = now(),
        cost_nano = judge_nano + coalesce((SELECT spent_nano FROM run WHERE id = a.run_id), 0)
      WHERE eval_run_id = $1 AND k = $2 AND state IN ('pending', 'running')`,
    [evalRunId, k, error.slice(0, 2_000)],
  );
}
