import type { Deps } from '../../deps.js';
import {
  assertMonths,
  bookUsage,
  countDeaths,
  evalKeyOf,
  readMonthBudgets,
  reserveIn,
  settleHolds,
  startMark,
} from '../../engine/index.js';
import type { CutUsage, ResolvedModel } from '../../models/contract.js';
import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { isRecord, type Json } from '../../shared/json.js';
import { toUsd } from '../../shared/money.js';
import { storableJson } from '../../shared/storable-json.js';
import type { AttemptRow } from './attempt-row.js';
import { callIn, type OpenCall, storedCall, waitsIn } from './judge-call.js';

/** Reservations and usage of judge calls are booked on the eval run, each attempt's in a lane of its own. */
const holdPlace = ({ evalRunId, k }: Place) => ({ runId: evalRunId, lane: `judge/${k}` });

/** Why the judge could not answer. */
export class JudgeFailed extends Error {
  override readonly name = 'JudgeFailed';
}

interface Cap {
  readonly key: string;
  readonly of: string;
  readonly cap: bigint;
}

interface JudgeCall extends OpenCall {
  readonly model: ResolvedModel;
  /** Its maximum cost. */
  readonly needNano: bigint;
}

type Place = Pick<AttemptRow, 'evalRunId' | 'k'>;

interface Started {
  /** The id of the call's start. */
  readonly start: string;
}

/** A call without an end may have been paid for: it is booked at its reservation. Call this in a transaction. */
export async function settleLostJudgeCall(sql: Sql, at: Place): Promise<void> {
  await settleInterrupted(sql, at, await lockJudge(sql, at));
}

async function settleInterrupted(sql: Sql, at: Place, { held, call }: Pick<JudgeRow, 'held' | 'call'>): Promise<void> {
  if (held === null) return;
  const model = isRecord(call) && typeof call.model === 'string' ? call.model : null;
  await settleReservation(sql, at, { cost: held, model, source: 'reserve' });
}

/** The recorded answer of call `number`, else its state. An interrupted call is settled, and its death counted. */
export async function openJudgeCall(deps: Deps, attempt: AttemptRow, number: number): Promise<string | OpenCall> {
  return deps.db.transaction(async (sql) => {
    const { held, said, call } = await lockJudge(sql, attempt);
    const before = said[String(number)];
    if (before !== undefined) return before;
    const stored = callIn(call, number);
    const state = held === null ? 'ended' : 'started';
    const deaths = await countDeaths({ ...deps, db: sql }, { state, result: stored });
    await settleInterrupted(sql, attempt, { held, call });
    const open = { number, deaths, ...waitsIn(stored) };
    await storeCall(sql, attempt, open);
    return open;
  });
}

/**
 * The recorded answer of the call; else reserves its maximum cost in every budget that applies, and returns the id of
 * its start.
 */
export async function startJudgeCall(
  deps: Deps,
  attempt: AttemptRow,
  call: JudgeCall,
): Promise<{ readonly said: string } | { readonly start: string }> {
  const { number, model, needNano, deaths, waited } = call;
  return deps.db.transaction(async (sql) => {
    const row = await lockJudge(sql, attempt);
    const said = row.said[String(number)];
    if (said !== undefined) return { said };
    if (!row.isOpen) throw new JudgeFailed('the eval run has ended');
    // An earlier, abandoned try of this grading may still be running.
    await settleInterrupted(sql, attempt, row);
    await reserve(deps, sql, attempt, call);
    const start = newId();
    const mark = { ...startMark(deps, deaths), start, model: modelName(model) };
    await sql.query(
      'UPDATE eval_attempt SET judge_held = $3, judge_call = $4::jsonb WHERE eval_run_id = $1 AND k = $2',
      [attempt.evalRunId, attempt.k, needNano, storableJson({ ...storedCall({ number, deaths, waited }), ...mark })],
    );
    return { start };
  });
}

interface JudgeRow {
  readonly isOpen: boolean;
  readonly held: bigint | null;
  readonly said: Readonly<Record<string, string>>;
  readonly call: Json;
}

async function lockJudge(sql: Sql, { evalRunId, k }: Place): Promise<JudgeRow> {
  const [row] = await sql.query<JudgeRow>(
    `SELECT state = 'running' AS "isOpen", judge_held AS held, judge_said AS said, judge_call AS call FROM eval_attempt
      WHERE eval_run_id = $1 AND k = $2 FOR UPDATE`,
    [evalRunId, k],
  );
  return row ?? { isOpen: false, held: null, said: {}, call: null };
}

async function storeCall(sql: Sql, { evalRunId, k }: Place, call: OpenCall): Promise<void> {
  await sql.query('UPDATE eval_attempt SET judge_call = $3::jsonb WHERE eval_run_id = $1 AND k = $2', [
    evalRunId,
    k,
    storableJson(storedCall(call)),
  ]);
}

/** Schedules the call's next try at a later time. */
export async function postponeJudgeCall(deps: Deps, attempt: AttemptRow, call: OpenCall): Promise<void> {
  await storeCall(deps.db, attempt, call);
}

/** A worker that shuts down abandons the call: this is not counted as a death. */
export async function abandonJudgeCall(deps: Deps, attempt: AttemptRow, left: OpenCall & Started): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const row = await lockJudge(sql, attempt);
    if (!isPending(row, left)) return;
    await settleInterrupted(sql, attempt, row);
    await storeCall(sql, attempt, left);
  });
}

/** False when the call was booked already, by the end of the eval run or by a later try of the grading. */
function isPending({ held, call }: JudgeRow, { start }: Started): boolean {
  return held !== null && isRecord(call) && call.start === start;
}

async function reserve(deps: Deps, sql: Sql, attempt: AttemptRow, { model, needNano }: JudgeCall): Promise<void> {
  await assertMonths(sql, attempt.workspaceId, deps.clock.now());
  for (const { key, of, cap } of await capsOf(deps, sql, attempt)) {
    if (model.price === null) {
      throw new JudgeFailed(
        `model ${model.name} has no known price, and ${of} has a budget: set its price, or name another judge:`,
      );
    }
    if (!(await reserveIn(sql, holdPlace(attempt), { key, cap, nano: needNano })))
      throw new JudgeFailed(`the budget of ${of}, $${toUsd(cap)}, has no room for it`);
  }
}

/** Ordered by key, the order in which budgets are locked everywhere. */
async function capsOf(deps: Deps, sql: Sql, { evalRunId, budgetNano, workspaceId }: AttemptRow): Promise<Cap[]> {
  const months = await readMonthBudgets(sql, workspaceId, deps.clock.now());
  const all = [{ key: evalKeyOf(evalRunId), of: 'the eval', cap: budgetNano }, ...months];
  return all
    .flatMap(({ key, of, cap }) => (cap === null ? [] : [{ key, of, cap }]))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Books a call's usage in one transaction with its answer, or with its state when it gave none. */
export async function endJudgeCall(
  deps: Deps,
  attempt: AttemptRow,
  end: Started & { readonly model: ResolvedModel; readonly used: CutUsage | null } & (
      | { readonly number: number; readonly said: string }
      | { readonly open: OpenCall }
    ),
): Promise<void> {
  const { model, used } = end;
  await deps.db.transaction(async (sql) => {
    if (!isPending(await lockJudge(sql, attempt), end)) return;
    await settleReservation(sql, attempt, {
      cost: used?.costNano ?? 0n,
      model: modelName(model),
      source: used?.costSource ?? 'none',
      used,
    });
    if ('open' in end) return storeCall(sql, attempt, end.open);
    await sql.query(
      'UPDATE eval_attempt SET judge_said = judge_said || $3::jsonb, judge_call = NULL WHERE eval_run_id = $1 AND k = $2',
      [attempt.evalRunId, attempt.k, storableJson({ [end.number]: end.said })],
    );
  });
}

interface Settled {
  readonly cost: bigint;
  readonly model: string | null;
  readonly source: string;
  /** Left out when the usage is unknown; null when it cost nothing. */
  readonly used?: CutUsage | null;
}

async function settleReservation(
  sql: Sql,
  { evalRunId, k }: Place,
  { cost, model, source, used }: Settled,
): Promise<void> {
  await settleHolds(sql, holdPlace({ evalRunId, k }), cost);
  await sql.query(
    'UPDATE eval_attempt SET judge_held = NULL, judge_nano = judge_nano + $3 WHERE eval_run_id = $1 AND k = $2',
    [evalRunId, k, cost],
  );
  if (used === null) return;
  const [owner] = await sql.query<{ tenantId: string; workspaceId: string }>(
    'SELECT tenant_id AS "tenantId", workspace_id AS "workspaceId" FROM eval_run WHERE id = $1',
    [evalRunId],
  );
  if (!owner) return;
  await bookUsage(sql, {
    ...owner,
    runId: evalRunId,
    step: `case ${k + 1}`,
    meter: 'judge',
    model,
    tokens: used?.usage ?? { input: 0, output: 0, cached: 0 },
    nano: used === undefined ? cost : used.costNano,
    source,
    estimated: used === undefined,
  });
}

function modelName({ provider, id }: ResolvedModel): string {
  return `${provider}/${id}`;
}
