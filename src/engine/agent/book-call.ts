import type { CutUsage, ModelError, ModelReply, ResolvedModel } from '../../models/contract.js';
import { writeStep } from '../lane/lane.js';
import { type Deaths, deathFields, NO_DEATHS } from './deaths.js';
import { storedWaited, type Waited, waitFields } from './judge-failures.js';
import type { Reserve } from './reserve.js';
import { modelFields, servedBy } from './served-by.js';
import { addMessage, callKey, journalKey, modelCall, type Session } from './session.js';

/** A call of a turn, with its reservation. */
export interface Made {
  readonly turn: number;
  readonly reserve: Reserve;
}

/** Books an answer: its cost and its row in the transcript. Both are in the next write. */
export function bookReply(
  session: Session,
  model: ResolvedModel,
  made: Made & { reply: ModelReply; ms: number },
): void {
  const { turn, reply, ms } = made;
  const { lane, state } = session;
  const { usage, costNano: cost } = reply;
  lane.writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: servedBy(model),
    acts: false,
    state: 'finished',
    result: { cost: cost === null ? null : String(cost) },
  });
  bookUsage(session, model, { ...made, used: reply, estimated: reply.estimated });
  lane.writer.event('model.finished', {
    ...placeOf(session, turn),
    round: state.round,
    ...modelFields(model),
    tokens: usage,
    costUsd: usdOf(cost),
    ...(reply.estimated ? { estimated: true } : {}),
    ms,
    calls: reply.calls.map((call) => call.name),
  });
  addMessage(session, {
    role: 'assistant',
    text: reply.text,
    calls: reply.calls,
    ...(reply.opaque === undefined ? {} : { opaque: reply.opaque }),
    ...(reply.finish === 'length' ? { cut: true } : {}),
    ...(reply.finish === 'content-filter' ? { filtered: servedBy(model) } : {}),
    ...(reply.estimated ? {} : { used: usage.input + usage.output }),
  });
}

/** Books a cut answer at its estimated cost, since the provider bills it. The call has ended. */
export function bookCut(
  session: Session,
  model: ResolvedModel,
  made: Made & { error: ModelError; cut: CutUsage },
): void {
  const { turn, error, cut } = made;
  markInterrupted(session, turn, { error: error.message });
  bookUsage(session, model, { ...made, used: cut, estimated: true });
  session.lane.writer.event('model.cut', {
    ...placeOf(session, turn),
    ...modelFields(model),
    error: error.message,
    tokens: cut.usage,
    costUsd: usdOf(cut.costNano),
    estimated: true,
  });
}

interface Settled extends Made {
  readonly used: CutUsage;
  readonly estimated: boolean;
}

function bookUsage(session: Session, model: ResolvedModel, { reserve, used, estimated }: Settled): void {
  const { lane, state, step } = session;
  const { usage, costNano, costSource } = used;
  const { batch } = lane.writer;
  batch.usage.push({
    step: step.id,
    meter: meterOf(lane),
    model: servedBy(model),
    tokens_in: usage.input,
    tokens_out: usage.output,
    tokens_cached: usage.cached,
    nano: costNano === null ? null : String(costNano),
    source: costSource,
    estimated,
    keys: keysOf(session),
  });
  batch.release += reserve.nano;
  batch.spend += costNano ?? 0n;
  state.costNano += costNano ?? 0n;
  state.tokensIn += usage.input;
  state.tokensOut += usage.output;
  state.tokensCached += usage.cached;
  writeStep(lane, state);
}

/** Books an unfinished call at its reservation: it may have been paid for. */
export function settleLostCall(session: Session, turn: number, { model, held }: { model: string; held: bigint }): void {
  const { lane, state, step, models } = session;
  const { batch } = lane.writer;
  batch.release += held;
  batch.spend += held;
  batch.settlesLost = true;
  state.costNano += held;
  writeStep(lane, state);
  batch.usage.push({
    step: step.id,
    meter: meterOf(lane),
    model,
    tokens_in: 0,
    tokens_out: 0,
    tokens_cached: 0,
    nano: held === 0n && models.some(({ price }) => price === null) ? null : String(held),
    source: 'reserve',
    estimated: true,
    keys: keysOf(session),
  });
  lane.writer.event('model.interrupted', {
    ...placeOf(session, turn),
    model,
    costUsd: usdOf(held),
    estimated: true,
  });
}

interface Interrupted {
  readonly error: string;
  readonly waited?: Waited | undefined;
  /** Left out when the call's end proves that it does not kill its worker. */
  readonly deaths?: Deaths;
}

export function markInterrupted(
  session: Session,
  turn: number,
  { error, waited = waitedOf(session, turn), deaths = NO_DEATHS }: Interrupted,
): void {
  session.lane.writer.batch.calls.push({
    ...callKey(session, turn, modelCall(session)),
    kind: 'model',
    name: firstServed(session),
    acts: false,
    state: 'interrupted',
    result: { error, ...waitFields(waited), ...deathFields(deaths) },
  });
}

/** How long this call has waited so far. It is stored in its row, so it survives the worker. */
export function waitedOf(session: Session, turn: number): Waited {
  return storedWaited(session.journal.get(journalKey(turn, modelCall(session)))?.result);
}

export function firstServed({ models: [first] }: Session): string {
  return first ? servedBy(first) : '';
}

/** The place of a call in events. */
export function placeOf({ step, state, purpose }: Session, turn: number): object {
  return { step: step.id, item: state.item, turn, ...(purpose === 'summary' ? { purpose } : {}) };
}

/** Usage of evals is metered separately. */
function meterOf({ run }: Session['lane']): 'model' | 'eval' {
  return run.mode === 'eval' ? 'eval' : 'model';
}

function keysOf({ lane }: Session): readonly string[] {
  return lane.writer.caps.map(({ key }) => key);
}

function usdOf(nano: bigint | null): number | null {
  return nano === null ? null : Number(nano) / 1e9;
}
