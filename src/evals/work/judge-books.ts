import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import { assertMonths, evalKeyOf, readMonthBudgets } from '../../engine/index.js';
import type { CutUsage, ResolvedModel } from '../../models/contract.js';
import { toUsd } from '../../shared/money.js';
import { storableJson } from '../../shared/storable-json.js';
import type { AttemptRow } from './attempt-row.js';

/** Holds and usage of a judge's call stand under the eval run, those of an attempt in a lane of its own. */
const laneOf = (k: number): string => `judge/${k}`;
const MAX_STARTS = 3;

/** Why the judge could not be asked. */
export class JudgeFailed extends Error {
  override readonly name = 'JudgeFailed';
}

interface Cap {
  readonly key: string;
  readonly of: string;
  readonly cap: bigint;
}

interface JudgeCall {
  readonly number: number;
  readonly model: ResolvedModel;
  /** What it may cost at most. */
  readonly needNano: bigint;
}

type Place = Pick<AttemptRow, 'evalRunId' | 'k'>;

/** A call that has no end may have been paid for: it counts at what it had set aside. Call it in a transaction. */
export async function settleLost(sql: Sql, at: Place, model: ResolvedModel | null): Promise<void> {
  const { held } = await lockJudge(sql, at);
  if (held === null) return;
  await settle(sql, at, { cost: held, model: model && modelName(model), source: 'reserve' });
}

/** What call `number` was answered before; else sets aside what it may cost, in every budget that holds it. */
export async function beginJudge(deps: Deps, attempt: AttemptRow, call: JudgeCall): Promise<string | null> {
  return deps.db.transaction(async (sql) => {
    const { starts, said } = await lockJudge(sql, attempt);
    const before = said[String(call.number)];
    if (before !== undefined) return before;
    if (starts >= MAX_STARTS) throw new JudgeFailed(`the worker ended ${MAX_STARTS} times while it was asked`);
    await hold(deps, sql, attempt, call);
    await sql.query(
      'UPDATE eval_attempt SET judge_starts = judge_starts + 1, judge_held = $3 WHERE eval_run_id = $1 AND k = $2',
      [attempt.evalRunId, attempt.k, call.needNano],
    );
    return null;
  });
}

interface JudgeRow {
  readonly starts: number;
  readonly held: bigint | null;
  readonly said: Readonly<Record<string, string>>;
}

async function lockJudge(sql: Sql, { evalRunId, k }: Place): Promise<JudgeRow> {
  const [row] = await sql.query<JudgeRow>(
    `SELECT judge_starts AS starts, judge_held AS held, judge_said AS said FROM eval_attempt
      WHERE eval_run_id = $1 AND k = $2 FOR UPDATE`,
    [evalRunId, k],
  );
  return row ?? { starts: 0, held: null, said: {} };
}

async function hold(deps: Deps, sql: Sql, attempt: AttemptRow, { model, needNano }: JudgeCall): Promise<void> {
  await assertMonths(sql, attempt.workspaceId, deps.clock.now());
  for (const { key, of, cap } of await capsOf(deps, sql, attempt)) {
    if (model.price === null) {
      throw new JudgeFailed(
        `model ${model.name} has no known price, and ${of} has a budget: set its price, or name another judge:`,
      );
    }
    const [row] = await sql.query(
      'UPDATE spent SET held = held + $2 WHERE key = $1 AND nano + held + $2 <= $3 RETURNING 1',
      [key, needNano, cap],
    );
    if (!row) throw new JudgeFailed(`the budget of ${of}, $${toUsd(cap)}, has no room for it`);
    await sql.query('INSERT INTO hold (key, run_id, lane, nano) VALUES ($1, $2, $3, $4)', [
      key,
      attempt.evalRunId,
      laneOf(attempt.k),
      needNano,
    ]);
  }
}

/** In the order of their keys, as everybody locks them. */
async function capsOf(deps: Deps, sql: Sql, { evalRunId, budgetNano, workspaceId }: AttemptRow): Promise<Cap[]> {
  const months = await readMonthBudgets(sql, workspaceId, deps.clock.now());
  const all = [{ key: evalKeyOf(evalRunId), of: 'the eval', cap: budgetNano }, ...months];
  return all
    .flatMap(({ key, of, cap }) => (cap === null ? [] : [{ key, of, cap }]))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Books what a call used and keeps what it answered, in one transaction. */
export async function endJudge(
  deps: Deps,
  attempt: AttemptRow,
  end: { readonly number: number; readonly model: ResolvedModel; readonly used: CutUsage | null } & (
    | { readonly said: string }
    | { readonly gaveUp: true }
  ),
): Promise<void> {
  const { number, model, used } = end;
  await deps.db.transaction(async (sql) => {
    // Whoever cut the eval run has booked it.
    if ((await lockJudge(sql, attempt)).held === null) return;
    await settle(sql, attempt, {
      cost: used?.costNano ?? 0n,
      model: modelName(model),
      source: used?.costSource ?? 'none',
      used,
    });
    const said = 'said' in end ? { [number]: end.said } : {};
    await sql.query(
      'UPDATE eval_attempt SET judge_said = judge_said || $3::jsonb, judge_starts = 0 WHERE eval_run_id = $1 AND k = $2',
      [attempt.evalRunId, attempt.k, storableJson(said)],
    );
  });
}

interface Settled {
  readonly cost: bigint;
  readonly model: string | null;
  readonly source: string;
  /** Left out for a call of which nobody knows what it used; null for one that cost nothing. */
  readonly used?: CutUsage | null;
}

async function settle(sql: Sql, { evalRunId, k }: Place, { cost, model, source, used }: Settled): Promise<void> {
  const lane = laneOf(k);
  const holds = await sql.query<{ key: string; nano: bigint }>(
    'SELECT key, nano FROM hold WHERE run_id = $1 AND lane = $2 ORDER BY key COLLATE "C"',
    [evalRunId, lane],
  );
  for (const { key, nano } of holds) {
    await sql.query('UPDATE spent SET held = held - $2, nano = nano + $3 WHERE key = $1', [key, nano, cost]);
  }
  await sql.query('DELETE FROM hold WHERE run_id = $1 AND lane = $2', [evalRunId, lane]);
  await sql.query(
    'UPDATE eval_attempt SET judge_held = NULL, judge_nano = judge_nano + $3 WHERE eval_run_id = $1 AND k = $2',
    [evalRunId, k, cost],
  );
  if (used === null) return;
  const { input, output, cached } = used?.usage ?? { input: 0, output: 0, cached: 0 };
  const nano = used === undefined ? cost : used.costNano;
  await sql.query(
    `INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, model, tokens_in, tokens_out, tokens_cached, nano, source, estimated)
      SELECT tenant_id, workspace_id, id, $2, 'judge', $3, $4, $5, $6, $7, $8, $9 FROM eval_run WHERE id = $1`,
    [evalRunId, `case ${k + 1}`, model, input, output, cached, nano, source, used === undefined],
  );
}

function modelName({ provider, id }: ResolvedModel): string {
  return `${provider}/${id}`;
}
