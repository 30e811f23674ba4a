import type { CutUsage, ModelError, ResolvedModel } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { isRecord } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import { ContextOverflow, OverBudget, Poison, StepFailure } from '../errors.js';
import type { CallRow } from '../journal/claim.js';
import { putOff } from '../lane/put-off.js';
import { askForBudget, standOnBudget } from './ask-budget.js';
import { resetTold } from './ask-model.js';
import {
  bookCut,
  bookReply,
  firstServed,
  markInterrupted,
  placeOf,
  settleLost,
  waitsOf,
  waitsTold,
} from './book-call.js';
import { takePools } from './caps.js';
import { judgeFailures } from './judge-failures.js';
import { type Reserve, reserveFor, UsedUp } from './reserve.js';
import { modelTold, servedBy } from './served-by.js';
import { callKey, journalKey, modelCall, type Session, turnsOf } from './session.js';
import { type Answered, type CallInHand, type FailedModel, tryModels } from './try-models.js';
import { warnOfBudgets } from './warn-budget.js';

const MAX_STARTS = 3;
const BUDGET_LOOK_MS = 2_000;

/** One model call: started in the journal, made, finished in the next write. A stop says "not before". */
export async function callModel(session: Session): Promise<Stop | null> {
  const turn = turnsOf(session);
  if (turn >= session.agent.maxTurns) throw new StepFailure(`no answer after ${session.agent.maxTurns} turns`, 'model');
  const call = callInHand(session, turn);
  try {
    const tried = await tryModels(session, call);
    if ('kind' in tried) return tried;
    if (!('reply' in tried)) return await giveUp(session, call, tried);
    return await take(session, call, tried);
  } catch (error) {
    // No later attempt looks into this one's journal: the call that was cut is settled here.
    if (session.timedOut()) settleCut(session, call);
    throw error;
  }
}

/** A call and what it has set aside; null before it is begun, and once it is settled. */
interface Call extends CallInHand {
  reserve: Reserve | null;
}

function callInHand(session: Session, turn: number): Call {
  const call: Call = {
    turn,
    isOut: false,
    reserve: null,
    async open() {
      if (call.reserve) return call.reserve;
      const begun = await begin(session, turn);
      if (!('kind' in begun)) call.reserve = begun;
      return begun;
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

async function take(session: Session, call: Call, { model, reply, ms }: Answered): Promise<null> {
  const { turn, reserve } = call;
  if (!reserve) throw new Error('an answer came to a call that was not begun');
  failpoint('model-answered');
  bookReply(session, model, { turn, reserve, reply, ms });
  call.reserve = null;
  await warnOfBudgets(session, reserve.caps, reply.costNano ?? 0n);
  return null;
}

function settleCut(session: Session, call: Call): void {
  const { turn, reserve } = call;
  if (!reserve) return;
  markInterrupted(session, turn, { error: 'cut by the timeout of the step' });
  // Between two tries the last one has failed, and is booked if it cost anything.
  if (call.isOut) settleLost(session, turn, { model: firstServed(session), held: reserve.nano });
  else session.lane.writer.batch.release += reserve.nano;
  call.reserve = null;
}

/** Sets aside what the call may cost and starts it in the journal; or says when to look again. */
async function begin(session: Session, turn: number): Promise<Stop | Reserve> {
  const { writer } = session.lane;
  const [first] = session.models;
  if (!first) throw new StepFailure('no model is configured for this step');
  const asked = await standOnBudget(session);
  if (asked) return asked;
  const pools = await takePools(session);
  settleOthers(session, turn);
  const settled = settleInterrupted(session, turn);
  const reserve = await reserveFor(session, pools).catch(async (error: unknown) => {
    // What was cut has used up the budget: it is not begun again, so it ends here.
    if (settled) markInterrupted(session, turn, { error: 'it was cut off' });
    const stop = error instanceof UsedUp ? await askForBudget(session, turn, error.cap) : null;
    if (stop === null) throw error;
    return stop;
  });
  if (reserve !== null && 'kind' in reserve) return reserve;
  if (reserve === null) return waitForOthers(session, turn, settled);
  writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: servedBy(first),
    acts: false,
    state: 'started',
    result: { reserve: String(reserve.nano), ...waitsTold(waitsOf(session, turn)) },
  });
  writer.batch.reserve += reserve.nano;
  writer.event('model.started', { ...placeOf(session, turn), ...modelTold(first) });
  try {
    await writer.flush();
  } catch (error) {
    // Another lane was faster by a moment: how much is left is read again once it is done.
    if (error instanceof OverBudget) return waitForOthers(session, turn, settled);
    throw error;
  }
  failpoint(session.purpose === 'summary' ? 'compaction-started' : 'model-started');
  if (settled) await resetTold(session);
  return reserve;
}

/** A call that was started and never finished may have been paid for: it is settled at its reserve, never free. */
function settleInterrupted(session: Session, turn: number): boolean {
  const key = journalKey(turn, modelCall(session));
  const row = session.journal.get(key);
  if (row?.state !== 'started') return false;
  if (row.starts >= MAX_STARTS)
    throw new Poison(`the worker ended ${MAX_STARTS} times during one model call of ${session.step.title}`);
  session.cut.delete(row);
  settleLost(session, turn, { model: row.name, held: heldBy(row) });
  // Settled once: a call that is begun anew finds it so.
  session.journal.set(key, { ...row, state: 'interrupted' });
  return true;
}

/**
 * Whoever comes after a crash may not make the call that was cut: with other models, whose context is of another size,
 * another one is next. What that one had set aside would be held for ever.
 */
function settleOthers(session: Session, turn: number): void {
  const { journal, cut, past, lane } = session;
  for (const row of cut) {
    if (row.turn === turn && row.call === modelCall(session) && row.epoch === past.epoch) continue;
    cut.delete(row);
    const key = { ...callKey(session, row.turn, row.call), epoch: row.epoch };
    const { name, result } = row;
    lane.writer.batch.calls.push({ ...key, kind: 'model', name, acts: false, state: 'interrupted', result });
    settleLost(session, row.turn, { model: name, held: heldBy(row) });
    const at = journalKey(row.turn, row.call);
    if (journal.get(at) === row) journal.delete(at);
  }
}

function heldBy({ result }: CallRow): bigint {
  return isRecord(result) ? BigInt(String(result.reserve ?? '0')) : 0n;
}

/** Calls of other lanes hold the rest of the budget: a durable timer, then another look. */
async function waitForOthers(session: Session, turn: number, settled: boolean): Promise<Stop> {
  const { lane } = session;
  if (settled) markInterrupted(session, turn, { error: 'it was cut off' });
  return putOff(lane, lane.deps.clock.now() + BUDGET_LOOK_MS);
}

/** No model answered: one that named a time is waited for by a durable timer, so often; anything else fails the step. */
async function giveUp(session: Session, call: Call, failed: readonly FailedModel[]): Promise<Stop> {
  const { lane, step } = session;
  const { turn, reserve } = call;
  const now = lane.deps.clock.now();
  const end = judgeFailures(failed, waitsOf(session, turn));
  markInterrupted(session, turn, { error: end.error, waits: end.kind === 'later' ? end.waits : undefined });
  lane.writer.batch.release += reserve?.nano ?? 0n;
  call.reserve = null;
  const told = { step: step.id, turn, error: end.error };
  if (end.kind === 'later') {
    const until = new Date(now + end.waitMs).toISOString();
    lane.writer.event('model.waiting', { ...told, until, waits: end.waits });
  } else lane.writer.event('model.failed', told);
  if (end.kind === 'later') return putOff(lane, now + end.waitMs);
  await lane.writer.flush();
  if (end.kind === 'overflow') throw new ContextOverflow(end.error, end.model);
  throw new StepFailure(end.error, 'model');
}
