import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import { assertMonths, evalKeyOf } from '../../engine/index.js';
import { toJson } from '../../shared/exact-json.js';
import { newId } from '../../shared/ids.js';
import { toNano, toUsd } from '../../shared/money.js';
import { Refusal } from '../../shared/refusal.js';
import type { Begun } from '../../workflows/contract.js';
import { type EvalCase, type Plan, validate } from '../../workspace/index.js';
import { loadPlan } from '../../workspaces/index.js';
import { type AttemptRow, failAttempt, readAttempt } from './attempt-row.js';

/** Default time limit of a case, so that each eval ends. */
const DEFAULT_TIMEOUT_MS = 3_600_000;

/**
 * Creates the run of an attempt once; later calls return the same run. The eval's workflow starts it as its child, so
 * no outbox row is needed. A refusal becomes the attempt's error.
 */
export async function beginAttempt(deps: Deps, evalRunId: string, k: number): Promise<Begun> {
  return deps.db.transaction(async (sql) => {
    const attempt = await readAttempt(sql, { evalRunId, k, lock: true });
    if (!attempt || attempt.over) return { kind: 'over' };
    if (attempt.state === 'running' && attempt.runId !== null) return { kind: 'run', runId: attempt.runId };
    if (attempt.state !== 'pending') return { kind: 'done' };
    const plan = await loadPlan(deps, attempt.workspaceId, attempt.planId);
    const testCase = attempt.spec.cases[attempt.caseNo];
    const fault = testCase ? await faultOf(deps, sql, { attempt, plan, testCase }) : 'the case is gone';
    if (fault !== null || !testCase) {
      await failAttempt(sql, attempt, fault ?? 'the case is gone');
      return { kind: 'done' };
    }
    const runId = newId(deps.clock.now());
    await insertRun(deps, sql, { attempt, plan, testCase, runId });
    return { kind: 'run', runId };
  });
}

interface Beginning {
  readonly attempt: AttemptRow;
  readonly plan: Plan;
  readonly testCase: EvalCase;
}

async function faultOf(deps: Deps, sql: Sql, { attempt, plan, testCase }: Beginning): Promise<string | null> {
  const faults = plan.input ? validate(plan.input, testCase.input) : [];
  if (faults.length > 0) return `the case’s input does not fit what ${plan.flow} declares: ${faults.join('; ')}`;
  if (!plan.input && typeof testCase.input !== 'string')
    return `${plan.flow} declares no input, so the case’s input is a text`;
  if (await isSpent(sql, attempt)) return `the budget of the eval, $${toUsd(attempt.budgetNano ?? 0n)}, is used up`;
  try {
    await assertMonths(sql, attempt.workspaceId, deps.clock.now());
    return null;
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'out_of_credit') return error.message;
    throw error;
  }
}

async function isSpent(sql: Sql, { evalRunId, budgetNano }: AttemptRow): Promise<boolean> {
  if (budgetNano === null) return false;
  const [row] = await sql.query<{ nano: bigint }>('SELECT nano FROM spent WHERE key = $1', [evalKeyOf(evalRunId)]);
  return (row?.nano ?? 0n) >= budgetNano;
}

async function insertRun(
  deps: Deps,
  sql: Sql,
  { attempt, plan, testCase, runId }: Beginning & { readonly runId: string },
): Promise<void> {
  const at = deps.clock.now();
  const { evalRunId, k, repeat } = attempt;
  const trigger = {
    at: new Date(at).toISOString(),
    kind: 'eval',
    eval: attempt.eval,
    evalRunId,
    case: testCase.title,
    repeat,
  };
  const timeoutMs = Math.min(testCase.timeoutMs ?? DEFAULT_TIMEOUT_MS, plan.timeoutMs ?? Number.POSITIVE_INFINITY);
  await sql.query(
    `WITH r AS (
        INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, mode, input, trigger, started_by, tags,
          budget_nano, deadline_at, library_seq, last_seq)
        VALUES ($1, $2, $3, $4, $5, $6, $1, 'eval', $7, $8, $9, $10, $11, to_timestamp($12::float8 / 1000), $15, 1)),
      l AS (INSERT INTO lane (run_id, lane) VALUES ($1, 'main')),
      a AS (UPDATE eval_attempt SET run_id = $1, state = 'running', started_at = now() WHERE eval_run_id = $13 AND k = $14)
      INSERT INTO run_event (run_id, seq, type, data) VALUES ($1, 1, 'run.queued', $8)`,
    [
      runId,
      attempt.tenantId,
      attempt.workspaceId,
      plan.flow,
      attempt.planId,
      attempt.revision,
      toJson(testCase.input),
      toJson(trigger),
      toJson(attempt.startedBy),
      [...plan.tags],
      plan.budgetUsd === undefined ? null : toNano(plan.budgetUsd),
      at + timeoutMs,
      evalRunId,
      k,
      attempt.librarySeq,
    ],
  );
}
