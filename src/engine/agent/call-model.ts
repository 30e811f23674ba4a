import type { CutUsage, ModelError, ResolvedModel } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { isRecord } from '../../shared/json.js';
import { Lru } from '../../shared/lru.js';
import { toUsd } from '../../shared/money.js';
import { storableJson } from '../../shared/storable-json.js';
import type { Stop } from '../../workflows/contract.js';
import { ContextOverflow, OverBudget, StepFailure } from '../errors.js';
import type { JournalCall } from '../journal/claim.js';
import { postpone, postponeWork } from '../lane/postpone.js';
import { notifyStreams } from '../rows/notify-streams.js';
import { askForBudget, resumeBudgetGate } from './ask-budget.js';
import { resetStream } from './ask-model.js';
import { bookCut, bookReply, firstServed, markInterrupted, placeOf, settleLostCall, waitedOf } from './book-call.js';
import { type Cap, loadPools, runOfCap, spentOf } from './caps.js';
import { type Deaths, isSuspect, readDeaths, startMark } from './deaths.js';
import { type CallEnd, judgeFailures, waitFields } from './judge-failures.js';
import { type Reserve, reserveFor, UsedUp } from './reserve.js';
import { modelFields, servedBy } from './served-by.js';
import { callKey, journalKey, modelCall, type Session, turnsOf } from './session.js';
import { callInTurn } from './suspect-call.js';
import { type Answered, type CallInHand, type FailedModel, tryModels } from './try-models.js';

/** Percentage of a run's budget that triggers the warning. */
const WARN_AT = 80n;

/** Runs that have been warned. The row is authoritative; this spares reading it. */
const warned = new Lru<string, true>(1_000);

const BUDGET_POLL_MS = 2_000;

const WORKER_LEFT = 'cut off: its worker was asked to end';

/**
 * Makes one model call: writes its start to the journal, calls, and adds its end to the next write. Returns a stop when
 * the call has to wait.
 */
export async function callModel(session: Session): Promise<Stop | null> {
  const turn = turnsOf(session);
  if (turn >= session.agent.maxTurns) throw new StepFailure(`no answer after ${session.agent.maxTurns} turns`, 'model');
  const row = session.journal.get(journalKey(turn, modelCall(session)));
  const deaths = await readDeaths(session.lane, row, `one model call of ${session.step.title}`);
  return callInTurn(session, deaths, () => makeModelCall(session, callInHand(session, turn, deaths)));
}

async function makeModelCall(session: Session, call: Call): Promise<Stop | null> {
  try {
    const tried = await tryModels(session, call);
    if ('kind' in tried) return tried;
    if (!('reply' in tried)) return await handleNoAnswer(session, call, tried);
    return await bookAnswer(session, call, tried);
  } catch (error) {
    // No later attempt reads this attempt's journal, so the interrupted call is settled here.
    if (session.timedOut()) settleOpenCall(session, call, 'cut by the timeout of the step');
    else if (session.signal.aborted && session.lane.leaving()) await abandonCall(session, call);
    throw error;
  }
}

/** A call with its reservation; null before it starts and after it is settled. */
interface Call extends CallInHand {
  readonly deaths: Deaths;
  reserve: Reserve | null;
}

function callInHand(session: Session, turn: number, deaths: Deaths): Call {
  const call: Call = {
    turn,
    waits: waitedOf(session, turn).waits,
    deaths,
    isPending: false,
    reserve: null,
    async open() {
      if (call.reserve) return call.reserve;
      const reserved = await reserveCall(session, turn, deaths);
      if (!('kind' in reserved)) call.reserve = reserved;
      return reserved;
    },
    async bookCut(model: ResolvedModel, error: ModelError, cut: CutUsage) {
      const { reserve } = call;
      if (!reserve) return;
      bookCut(session, model, { turn, reserve, error, cut });
      call.reserve = null;
      await session.lane.writer.flush();
      failpoint('model-cut');
      await warnOfBudgets(session, reserve.caps, cut.costNano ?? 0n);
    },
  };
  return call;
}

async function bookAnswer(session: Session, call: Call, { model, reply, ms }: Answered): Promise<null> {
  const { turn, reserve } = call;
  if (!reserve) throw new Error('a call without a reservation was answered');
  failpoint('model-answered');
  bookReply(session, model, { turn, reserve, reply, ms });
  call.reserve = null;
  await warnOfBudgets(session, reserve.caps, reply.costNano ?? 0n);
  return null;
}

/** On shutdown: releases the call, so that the next worker makes it again without counting a death. */
async function abandonCall(session: Session, call: Call): Promise<void> {
  settleOpenCall(session, call, WORKER_LEFT);
  await session.lane.writer.flush().catch(() => undefined);
}

function settleOpenCall(session: Session, call: Call, error: string): void {
  const { turn, reserve, deaths } = call;
  if (!reserve) return;
  markInterrupted(session, turn, { error, deaths });
  // Between two tries no request is in flight: the last try has failed, and is already booked if it cost anything.
  if (call.isPending) settleLostCall(session, turn, { model: firstServed(session), held: reserve.nano });
  else session.lane.writer.batch.release += reserve.nano;
  call.reserve = null;
}

/** Reserves the maximum cost of the call and writes its start; or returns when to try again. */
async function reserveCall(session: Session, turn: number, deaths: Deaths): Promise<Stop | Reserve> {
  const { writer } = session.lane;
  const [first] = session.models;
  if (!first) throw new StepFailure('no model is configured for this step');
  const asked = await resumeBudgetGate(session);
  if (asked) return asked;
  const pools = await loadPools(session);
  settleOthers(session, isCall(session, turn));
  const settled = settleInterrupted(session, turn);
  const reserve = await reserveFor(session, pools).catch(async (error: unknown) => {
    // The interrupted call used up the budget and will not be repeated: write its end.
    if (settled) markInterrupted(session, turn, { error: 'it was cut off', deaths });
    const stop = error instanceof UsedUp ? await askForBudget(session, turn, error.cap) : null;
    if (stop === null) throw error;
    return stop;
  });
  if (reserve !== null && 'kind' in reserve) return reserve;
  const cut = settled ? deaths : null;
  if (reserve === null) return waitForOthers(session, turn, cut);
  writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: servedBy(first),
    acts: false,
    state: 'started',
    result: {
      reserve: String(reserve.nano),
      ...waitFields(waitedOf(session, turn)),
      ...startMark(session.lane.deps, deaths),
    },
  });
  writer.batch.reserve += reserve.nano;
  const alone = isSuspect(deaths) ? { alone: true } : {};
  writer.event('model.started', { ...placeOf(session, turn), ...modelFields(first), ...alone });
  try {
    await writer.flush();
  } catch (error) {
    // Another lane reserved first: read the rest of the budget once that lane is done.
    if (error instanceof OverBudget) return waitForOthers(session, turn, cut);
    throw error;
  }
  failpoint(session.purpose === 'summary' ? 'compaction-started' : 'model-started');
  if (settled || wasAbandoned(session, turn)) await resetStream(session);
  return reserve;
}

/** Settles a call that was started and never finished at its reservation: it may have been billed. */
function settleInterrupted(session: Session, turn: number): boolean {
  const key = journalKey(turn, modelCall(session));
  const row = session.journal.get(key);
  if (row?.state !== 'started') return false;
  session.cut.delete(row);
  settleLostCall(session, turn, { model: row.name, held: heldBy(row) });
  // Mark it settled, so that a repeated call does not settle it twice.
  session.journal.set(key, { ...row, state: 'interrupted' });
  return true;
}

/**
 * After a crash the next call may differ (other models, other context window). Settle the interrupted calls at their
 * reservations, or those are held forever.
 */
function settleOthers(session: Session, isNext: (row: JournalCall) => boolean): void {
  const { journal, cut, lane } = session;
  for (const row of cut) {
    if (isNext(row)) continue;
    cut.delete(row);
    const key = { ...callKey(session, row.turn, row.call), epoch: row.epoch };
    const { name, result } = row;
    lane.writer.batch.calls.push({ ...key, kind: 'model', name, acts: false, state: 'interrupted', result });
    settleLostCall(session, row.turn, { model: name, held: heldBy(row) });
    const at = journalKey(row.turn, row.call);
    if (journal.get(at) === row) journal.delete(at);
  }
}

/** True if the call's worker left it on shutdown: watchers still see its streamed text. */
function wasAbandoned(session: Session, turn: number): boolean {
  const row = session.journal.get(journalKey(turn, modelCall(session)));
  return row?.state === 'interrupted' && isRecord(row.result) && row.result.error === WORKER_LEFT;
}

/** Settles every interrupted call at its reservation: a step that timed out repeats none of them. */
export function settleAllInterrupted(session: Session): void {
  settleOthers(session, () => false);
}

function isCall(session: Session, turn: number): (row: JournalCall) => boolean {
  return (row) => row.turn === turn && row.call === modelCall(session) && row.epoch === session.past.epoch;
}

function heldBy({ result }: JournalCall): bigint {
  return isRecord(result) ? BigInt(String(result.reserve ?? '0')) : 0n;
}

/** Other lanes have reserved the rest of the budget: wait on a durable timer, then retry. */
async function waitForOthers(session: Session, turn: number, cut: Deaths | null): Promise<Stop> {
  const { lane } = session;
  if (cut) markInterrupted(session, turn, { error: 'it was cut off', deaths: cut });
  return postpone(lane, lane.deps.clock.now() + BUDGET_POLL_MS);
}

/** No model answered: transient failures wait on a durable timer; others fail the step. */
async function handleNoAnswer(session: Session, call: Call, failed: readonly FailedModel[]): Promise<Stop> {
  const { lane } = session;
  const { turn, reserve } = call;
  const nowMs = lane.deps.clock.now();
  const { waitMs: boundMs } = lane.deps.models;
  const end = judgeFailures(failed, { waited: waitedOf(session, turn), nowMs, boundMs });
  markInterrupted(session, turn, { error: end.error, waited: end.kind === 'later' ? end.waited : undefined });
  lane.writer.batch.release += reserve?.nano ?? 0n;
  call.reserve = null;
  if (end.kind === 'later') return waitForModel(session, turn, { ...end, nowMs });
  lane.writer.event('model.failed', { ...placeOf(session, turn), error: end.error });
  await lane.writer.flush();
  if (end.kind === 'overflow') throw new ContextOverflow(end.error, end.model);
  throw new StepFailure(end.error, 'model');
}

type Later = Extract<CallEnd, { kind: 'later' }>;

/** Waits for the provider. The wait is part of the step's work, so it ends with the step's timeout at the latest. */
async function waitForModel(session: Session, turn: number, end: Later & { nowMs: number }): Promise<Stop> {
  const { lane, state, endsAt } = session;
  const { nowMs, error, waitMs, waited } = end;
  const at = Math.min(nowMs + waitMs, endsAt ?? Number.POSITIVE_INFINITY);
  const until = new Date(at).toISOString();
  lane.writer.event('model.waiting', { ...placeOf(session, turn), error, until, waits: waited.waits });
  return postponeWork(lane, at, { kind: 'model', step: state.id, item: state.item, since: nowMs, reason: error });
}

/** Warns each run once that most of its budget is spent: the run at work, and those above it. */
async function warnOfBudgets({ lane, step }: Session, caps: readonly Cap[], cost: bigint): Promise<void> {
  for (const cap of caps) {
    const runId = runOfCap(cap);
    const spent = spentOf(cap) + cost;
    if (runId === null || spent * 100n < cap.budget * WARN_AT || warned.get(runId)) continue;
    const rows = await lane.deps.db.query({
      name: 'warn-of-budget',
      text: `WITH r AS (UPDATE run SET budget_warned = true, last_seq = last_seq + 1
          WHERE id = $1 AND NOT budget_warned AND finished_at IS NULL RETURNING last_seq)
        INSERT INTO run_event (run_id, seq, type, data) SELECT $1, last_seq, 'budget.warning', $2 FROM r RETURNING seq`,
      values: [
        runId,
        storableJson({
          ...(runId === lane.run.id ? { step: step.id } : {}),
          budgetUsd: toUsd(cap.budget),
          spentUsd: toUsd(spent),
          percent: Number((spent * 100n) / (cap.budget > 0n ? cap.budget : 1n)),
        }),
      ],
    });
    warned.set(runId, true);
    if (rows.length > 0) notifyStreams(lane.deps, runId);
  }
}
