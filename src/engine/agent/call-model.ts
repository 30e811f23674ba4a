import { ModelError, type ModelReply, type ResolvedModel } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { isRecord } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import { ContextOverflow, OverBudget, Poison, StepFailure } from '../errors.js';
import { writeStep } from '../lane/lane.js';
import { deltaSink } from '../rows/deltas.js';
import { shown } from '../text/plain-text.js';
import { openingMessages, toolSpecs } from './request.js';
import { type Reserve, reserveFor, settleLost } from './reserve.js';
import { callKey, journalKey, modelCall, type Session, say, turnsOf } from './session.js';

const MAX_STARTS = 3;
const IN_PLACE_MS = 10_000;
const IN_PLACE_TRIES = 4;
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
    name: first.name,
    acts: false,
    state: 'started',
    result: { reserve: String(reserve.nano) },
  });
  lane.writer.batch.reserve += reserve.nano;
  lane.writer.event('model.started', { ...placeOf(session, turn), model: first.name });
  try {
    await lane.writer.flush();
  } catch (error) {
    // Another lane was faster by a moment: how much is left is read again once it is done.
    if (error instanceof OverBudget) return waitForOthers(session, turn, settled);
    throw error;
  }
  failpoint(session.purpose === 'summary' ? 'compaction-started' : 'model-started');
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

function markInterrupted(session: Session, turn: number, error: string): void {
  session.lane.writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: session.models[0]?.name ?? '',
    acts: false,
    state: 'interrupted',
    result: { error },
  });
}

function settleCut(session: Session, turn: number, reserve: Reserve): void {
  markInterrupted(session, turn, 'cut by the timeout of the step');
  settleLost(session, session.models[0]?.name ?? '', reserve.nano);
}

async function attempt(session: Session, turn: number, reserve: Reserve): Promise<Stop | null> {
  const { lane } = session;
  let last: ModelError | null = null;
  for (const model of session.models) {
    for (let tries = 1; tries <= IN_PLACE_TRIES; tries += 1) {
      try {
        const began = lane.deps.clock.now();
        const reply = await request(session, model, turn, reserve, tries);
        failpoint('model-answered');
        record(session, model, turn, reserve, reply, lane.deps.clock.now() - began);
        return null;
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        if (session.signal.aborted) throw session.signal.reason;
        last = error;
        if (error.kind !== 'overloaded' && error.kind !== 'transient') break;
        const wait = error.retryAfterMs ?? 500 * 2 ** (tries - 1);
        if (wait > IN_PLACE_MS) break;
        lane.writer.event('model.retrying', { step: session.step.id, turn, error: error.message, waitMs: wait });
        await pause(wait, session.signal);
      }
    }
  }
  return giveUp(session, turn, reserve, last);
}

/** Nothing answered: a provider that named a time is waited for by a durable timer, anything else fails the step. */
async function giveUp(
  session: Session,
  turn: number,
  reserve: Reserve,
  error: ModelError | null,
): Promise<Stop | null> {
  const { lane, step } = session;
  const wait = error?.kind === 'overloaded' ? error.retryAfterMs : null;
  markInterrupted(session, turn, error?.message ?? 'no answer');
  lane.writer.batch.release += reserve.nano;
  lane.writer.event('model.failed', { step: step.id, turn, error: error?.message ?? 'no answer' });
  await lane.writer.flush();
  if (wait !== null && wait > IN_PLACE_MS) return { kind: 'later', at: lane.deps.clock.now() + wait };
  if (error?.kind === 'overflow') throw new ContextOverflow(error.message, 'model');
  throw new StepFailure(error?.message ?? 'the model gave no answer', 'model');
}

async function request(
  session: Session,
  model: ResolvedModel,
  turn: number,
  reserve: Reserve,
  tries: number,
): Promise<ModelReply> {
  const { lane, step, state, agent, purpose } = session;
  const sink = deltaSink(lane.deps.db, { runId: lane.run.id, step: step.id, item: state.item, round: state.round });
  const { temperature } = agent.config;
  if (tries > 1 && purpose === 'turn') sink.reset();
  try {
    return await lane.deps.models.call({
      model,
      system: session.system,
      messages: openingMessages(session, turn),
      tools: toolSpecs(session, turn),
      ...(typeof temperature === 'number' ? { temperature } : {}),
      ...(reserve.maxOutputTokens === null ? {} : { maxOutputTokens: reserve.maxOutputTokens }),
      ...(step.schema && purpose === 'turn' ? { schema: step.schema } : {}),
      idempotencyKey: keyOf(session, turn),
      script: {
        yaml: session.script,
        agent: agent.name,
        purpose,
        step: step.id,
        round: state.round,
        turn,
        attempt: state.attempts - 1 + tries,
        input: shown(lane.run.input ?? undefined),
      },
      signal: session.signal,
      ...(purpose === 'turn' ? { onDelta: sink.push } : {}),
    });
  } finally {
    sink.end();
  }
}

function record(
  session: Session,
  model: ResolvedModel,
  turn: number,
  reserve: Reserve,
  reply: ModelReply,
  ms: number,
): void {
  const { lane, state, step } = session;
  const usage = reply.usage ?? { input: 0, output: 0, cached: 0 };
  const cost = reply.costNano;
  const { batch } = lane.writer;
  batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: model.name,
    acts: false,
    state: 'finished',
    result: { cost: cost === null ? null : String(cost) },
  });
  batch.usage.push({
    step: step.id,
    meter: 'model',
    model: model.name,
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
    model: model.name,
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
    ...(reply.estimated ? {} : { used: usage.input + usage.output }),
  });
}

/** A call after a compaction is another one to the provider, which may keep what it answered under a key. */
function keyOf(session: Session, turn: number): string {
  const { lane, state, past, purpose } = session;
  const key = [lane.run.id, state.id, state.item, state.round, state.attempts, turn];
  return [...key, ...(past.epoch > 0 ? [`e${past.epoch}`] : []), ...(purpose === 'summary' ? [purpose] : [])].join('/');
}

/** Where events say that a call was made. */
function placeOf({ step, state, purpose }: Session, turn: number): object {
  return { step: step.id, item: state.item, turn, ...(purpose === 'summary' ? { purpose } : {}) };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', cut, { once: true });
    function done() {
      signal.removeEventListener('abort', cut);
      resolve();
    }
    function cut() {
      clearTimeout(timer);
      reject(signal.reason);
    }
  });
}
