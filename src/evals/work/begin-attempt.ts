import { loadPlan } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { assertMonths, evalKeyOf, insertRun } from '../../engine/index.js';
import { type EvalCase, inputFaults, type Plan } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { toUsd } from '../../shared/money.js';
import { Refusal } from '../../shared/refusal.js';
import type { Begun } from '../../workflows/contract.js';
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
    await beginRun(deps, sql, { attempt, plan, testCase, runId });
    return { kind: 'run', runId };
  });
}

interface Beginning {
  readonly attempt: AttemptRow;
  readonly plan: Plan;
  readonly testCase: EvalCase;
}

async function faultOf(deps: Deps, sql: Sql, { attempt, plan, testCase }: Beginning): Promise<string | null> {
  const faults = inputFaults(plan, testCase.input);
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

async function beginRun(
  deps: Deps,
  sql: Sql,
  { attempt, plan, testCase, runId }: Beginning & { readonly runId: string },
): Promise<void> {
  const at = deps.clock.now();
  const { evalRunId, k, repeat } = attempt;
  const timeoutMs = Math.min(testCase.timeoutMs ?? DEFAULT_TIMEOUT_MS, plan.timeoutMs ?? Number.POSITIVE_INFINITY);
  await insertRun(sql, {
    ...attempt,
    id: runId,
    plan,
    mode: 'eval',
    input: testCase.input,
    trigger: {
      at: new Date(at).toISOString(),
      kind: 'eval',
      eval: attempt.eval,
      evalRunId,
      case: testCase.title,
      repeat,
    },
    deadlineAt: at + timeoutMs,
  });
  await sql.query(
    `UPDATE eval_attempt SET run_id = $1, state = 'running', started_at = now() WHERE eval_run_id = $2 AND k = $3`,
    [runId, evalRunId, k],
  );
}
