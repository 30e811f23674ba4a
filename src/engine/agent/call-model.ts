import { failpoint } from '../../shared/failpoint.js';
import { isRecord } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import { ContextOverflow, OverBudget, Poison, StepFailure } from '../errors.js';
import { writeStep } from '../lane/lane.js';
import { resetTold } from './ask-model.js';
import { judgeFailures } from './judge-failures.js';
import { type Reserve, reserveFor, settleLost } from './reserve.js';
import { modelTold, servedBy } from './served-by.js';
import { callKey, journalKey, modelCall, type Session, say, turnsOf } from './session.js';
import { type Answered, type FailedModel, tryModels } from './try-models.js';

const MAX_STARTS = 3;
const BUDGET_LOOK_MS = 2_000;

/** One model call: started in the journal, made, finished in the next write. A stop says "not before". */
export async function callModel(session: Session): Promise<Stop | null> {
  const { lane, agent } = session;
  const turn = turnsOf(session);
  if (turn >= agent.maxTurns) throw new StepFailure(`no answer after ${agent.maxTurns} turns`, 'model');
  const [first] = session.models;
  if (!first) throw new StepFailure('no model is configured for this step');
  const settled = settleInterrupted(session, turn);
  const reserve = await reserveFor(session, first).catch((error: unknown) => {
    // What was cut has used up the budget: it is not begun again, so it ends here.
    if (settled) markInterrupted(session, turn, 'it was cut off');
    throw error;
  });
  if (reserve === null) return waitForOthers(session, turn, settled);
  lane.writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: servedBy(first),
    acts: false,
    state: 'started',
    result: { reserve: String(reserve.nano), ...waitsTold(waitsOf(session, turn)) },
  });
  lane.writer.batch.reserve += reserve.nano;
  lane.writer.event('model.started', { ...placeOf(session, turn), ...modelTold(first) });
  try {
    await lane.writer.flush();
  } catch (error) {
    // Another lane was faster by a moment: how much is left is read again once it is done.
    if (error instanceof OverBudget) return waitForOthers(session, turn, settled);
    throw error;
  }
  failpoint(session.purpose === 'summary' ? 'compaction-started' : 'model-started');
  if (settled) await resetTold(session);
  try {
    return await attempt(session, turn, reserve);
  } catch (error) {
    // No later attempt looks into this one's journal: the call that was cut is settled here.
    if (session.timedOut()) settleCut(session, turn, reserve);
    throw error;
  }
}

/** A call that was started and never finished may have been paid for: it is settled at its reserve, never free. */
function settleInterrupted(session: Session, turn: number): boolean {
  const row = session.journal.get(journalKey(turn, modelCall(session)));
  if (row?.state !== 'started') return false;
  if (row.starts >= MAX_STARTS)
    throw new Poison(`the worker ended ${MAX_STARTS} times during one model call of ${session.step.title}`);
  const held = isRecord(row.result) ? BigInt(String(row.result.reserve ?? '0')) : 0n;
  settleLost(session, row.name, held);
  return true;
}

/** Calls of other lanes hold the rest of the budget: a durable timer, then another look. */
async function waitForOthers(session: Session, turn: number, settled: boolean): Promise<Stop> {
  const { lane } = session;
  if (settled) markInterrupted(session, turn, 'it was cut off');
  await lane.writer.flush();
  return { kind: 'later', at: lane.deps.clock.now() + BUDGET_LOOK_MS };
}

function markInterrupted(session: Session, turn: number, error: string, waits = waitsOf(session, turn)): void {
  session.lane.writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: firstServed(session),
    acts: false,
    state: 'interrupted',
    result: { error, ...waitsTold(waits) },
  });
}

function settleCut(session: Session, turn: number, reserve: Reserve): void {
  markInterrupted(session, turn, 'cut by the timeout of the step');
  settleLost(session, firstServed(session), reserve.nano);
}

function firstServed({ models: [first] }: Session): string {
  return first ? servedBy(first) : '';
}

function waitsTold(waits: number): object {
  return waits === 0 ? {} : { waits };
}

async function attempt(session: Session, turn: number, reserve: Reserve): Promise<Stop | null> {
  const tried = await tryModels(session, { turn, maxOutputTokens: reserve.maxOutputTokens });
  if (!('reply' in tried)) return giveUp(session, turn, reserve, tried);
  failpoint('model-answered');
  record(session, turn, reserve, tried);
  return null;
}

/** No model answered: one that named a time is waited for by a durable timer, so often; anything else fails the step. */
async function giveUp(
  session: Session,
  turn: number,
  reserve: Reserve,
  failed: readonly FailedModel[],
): Promise<Stop | null> {
  const { lane, step } = session;
  const now = lane.deps.clock.now();
  const end = judgeFailures(failed, waitsOf(session, turn));
  markInterrupted(session, turn, end.error, end.kind === 'later' ? end.waits : undefined);
  lane.writer.batch.release += reserve.nano;
  const told = { step: step.id, turn, error: end.error };
  if (end.kind === 'later') {
    const until = new Date(now + end.waitMs).toISOString();
    lane.writer.event('model.waiting', { ...told, until, waits: end.waits });
  } else lane.writer.event('model.failed', told);
  await lane.writer.flush();
  if (end.kind === 'later') return { kind: 'later', at: now + end.waitMs };
  if (end.kind === 'overflow') throw new ContextOverflow(end.error, end.model);
  throw new StepFailure(end.error, 'model');
}

/** How often this call was put off so far: the count is in its row, whoever goes on. */
function waitsOf(session: Session, turn: number): number {
  const result = session.journal.get(journalKey(turn, modelCall(session)))?.result;
  return isRecord(result) && typeof result.waits === 'number' ? result.waits : 0;
}

function record(session: Session, turn: number, reserve: Reserve, { model, reply, ms }: Answered): void {
  const { lane, state, step } = session;
  const usage = reply.usage ?? { input: 0, output: 0, cached: 0 };
  const cost = reply.costNano;
  const { batch } = lane.writer;
  batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: servedBy(model),
    acts: false,
    state: 'finished',
    result: { cost: cost === null ? null : String(cost) },
  });
  batch.usage.push({
    step: step.id,
    meter: 'model',
    model: servedBy(model),
    tokens_in: usage.input,
    tokens_out: usage.output,
    tokens_cached: usage.cached,
    nano: cost === null ? null : String(cost),
    source: reply.costSource,
    estimated: reply.estimated ?? false,
  });
  batch.release += reserve.nano;
  batch.spend += cost ?? 0n;
  state.costNano += cost ?? 0n;
  state.tokensIn += usage.input;
  state.tokensOut += usage.output;
  state.tokensCached += usage.cached;
  writeStep(lane, state);
  lane.writer.event('model.finished', {
    ...placeOf(session, turn),
    round: state.round,
    ...modelTold(model),
    tokens: usage,
    costUsd: cost === null ? null : Number(cost) / 1e9,
    ms,
    calls: reply.calls.map((call) => call.name),
  });
  say(session, {
    role: 'assistant',
    text: reply.text,
    calls: reply.calls,
    ...(reply.opaque === undefined ? {} : { opaque: reply.opaque }),
    ...(reply.finish === 'length' ? { cut: true } : {}),
    ...(reply.finish === 'content-filter' ? { filtered: servedBy(model) } : {}),
    ...(reply.estimated ? {} : { used: usage.input + usage.output }),
  });
}

/** Where events say that a call was made. */
function placeOf({ step, state, purpose }: Session, turn: number): object {
  return { step: step.id, item: state.item, turn, ...(purpose === 'summary' ? { purpose } : {}) };
}
