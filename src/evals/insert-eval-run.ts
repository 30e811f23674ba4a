import type { StartPushEvals } from '../content/contract.js';
import type { EvalPlan } from '../format/index.js';
import type { Sql } from '../platform/db/contract.js';
import { newId } from '../shared/ids.js';
import type { Json } from '../shared/json.js';
import { toNano } from '../shared/money.js';
import { storableJson } from '../shared/storable-json.js';
import { reportFailedEval } from './report-failed-eval.js';

/**
 * Limit for the attempts of a run: more repeats are not a useful test, and their history would exceed Temporal's limit.
 */
export const MAX_ATTEMPTS = 2_000;

interface NewEvalRun {
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly revision: string;
  readonly librarySeq: number;
  readonly planId: string;
  readonly spec: EvalPlan;
  readonly trigger: 'manual' | 'push';
  readonly startedBy: Json;
  /** Indexes of the selected cases. */
  readonly cases: readonly number[];
}

/** Number of attempts for these cases; skipped cases have none. */
export function attemptsOf(spec: EvalPlan, cases: readonly number[]): number {
  return cases.reduce((sum, at) => sum + (spec.cases[at]?.skip ? 0 : (spec.cases[at]?.repeat ?? 0)), 0);
}

/**
 * Inserts an eval run, its attempts and the outbox row of its start, in the caller's transaction. A run with too many
 * attempts is inserted as failed, without attempts.
 */
export async function insertEvalRun(sql: Sql, run: NewEvalRun): Promise<string> {
  const id = newId();
  const { spec, cases } = run;
  const tooMany = attemptsOf(spec, cases) > MAX_ATTEMPTS;
  const error = tooMany ? `its cases and their repeats come to more than ${MAX_ATTEMPTS} runs: split the eval` : null;
  await sql.query({
    name: 'insert-eval-run',
    text: `WITH e AS (
        INSERT INTO eval_run (id, tenant_id, workspace_id, eval, revision, library_seq, plan_id, spec, trigger, started_by, budget_nano, status,
          error, finished_at)
        VALUES ($1, $2, $3, $4, $5, $16, $6, $7::jsonb, $8, $9, $10::bigint, CASE WHEN $11::text IS NULL THEN 'queued' ELSE 'failed' END,
          $11, CASE WHEN $11::text IS NOT NULL THEN now() END) RETURNING id),
      s AS (INSERT INTO spent (key) SELECT 'eval/' || id FROM e WHERE $10::bigint IS NOT NULL),
      o AS (INSERT INTO outbox (run_id, kind) SELECT id, 'start-eval' FROM e WHERE $11::text IS NULL)
      INSERT INTO eval_attempt (eval_run_id, k, case_no, repeat, state)
      SELECT e.id, x.k, x.case_no, x.repeat, x.state
      FROM e, unnest($12::int[], $13::int[], $14::int[], $15::text[]) AS x (k, case_no, repeat, state)`,
    values: [
      id,
      run.tenantId,
      run.workspaceId,
      spec.name,
      run.revision,
      run.planId,
      storableJson(spec),
      run.trigger,
      JSON.stringify(run.startedBy),
      spec.budgetUsd === undefined ? null : toNano(spec.budgetUsd),
      error,
      ...columnsOf(spec, tooMany ? [] : cases),
      run.librarySeq,
    ],
  });
  if (tooMany) await reportFailedEval(sql, id);
  return id;
}

function columnsOf(spec: EvalPlan, cases: readonly number[]): readonly unknown[][] {
  const rows = cases.flatMap((at) => {
    const { skip = false, repeat = 1 } = spec.cases[at] ?? {};
    const state = skip ? 'skipped' : 'pending';
    return Array.from({ length: skip ? 1 : repeat }, (_, index) => ({ at, repeat: index + 1, state }));
  });
  return [
    rows.map((_, k) => k),
    rows.map(({ at }) => at),
    rows.map(({ repeat }) => repeat),
    rows.map(({ state }) => state),
  ];
}

/**
 * Starts the evals of a new live revision whose trigger is `push`, in the transaction that makes it live. The deploy
 * does not wait for them. Evals without cases are left out.
 */
export const startPushEvals: StartPushEvals = async (sql, at, evals) => {
  const pushed = evals.filter(({ trigger, cases }) => trigger === 'push' && cases.length > 0);
  if (pushed.length === 0) return [];
  const { workspaceId, tenantId, revision } = at;
  const [row] = await sql.query<{ plans: Readonly<Record<string, string>>; librarySeq: number }>(
    `SELECT plans_at(r.workspace_id, r.seq, l.seq, r.plans) AS plans, l.seq AS "librarySeq"
      FROM revision r, library_of($3) AS l (seq) WHERE r.workspace_id = $1 AND r.id = $2`,
    [workspaceId, revision, tenantId],
  );
  const started: string[] = [];
  for (const spec of pushed) {
    const planId = row?.plans[spec.target];
    if (!row || planId === undefined) continue;
    const { librarySeq } = row;
    const startedBy = { ...at.by, person: null };
    const cases = spec.cases.map((_, index) => index);
    started.push(
      await insertEvalRun(sql, {
        tenantId,
        workspaceId,
        revision,
        librarySeq,
        planId,
        spec,
        trigger: 'push',
        startedBy,
        cases,
      }),
    );
  }
  return started;
};
