import { type CutUsage, ModelError, type ModelReply, type ResolvedModel } from '../../models/contract.js';
import { sleep } from '../../shared/deadline.js';
import type { Stop } from '../../workflows/contract.js';
import { askModel } from './ask-model.js';
import type { Reserve } from './reserve.js';
import { modelFields } from './served-by.js';
import type { Session } from './session.js';

/** Waits up to this long happen in the call; longer ones use a durable timer. */
export const IN_PLACE_MS = 10_000;
export const IN_PLACE_TRIES = 4;

export interface Answered {
  readonly model: ResolvedModel;
  readonly reply: ModelReply;
  readonly ms: number;
}

export interface FailedModel {
  readonly model: ResolvedModel;
  readonly error: ModelError;
}

/** The current call, as in the journal. */
export interface CallInHand {
  readonly turn: number;
  /** Number of waits on a durable timer so far. */
  readonly waits: number;
  /** True while a provider has the request, when its cost is unknown. */
  isPending: boolean;
  /** Returns the reservation. After an answer that broke off was booked, it reserves again; a stop when it must not. */
  open(): Promise<Reserve | Stop>;
  bookCut(model: ResolvedModel, error: ModelError, cut: CutUsage): Promise<void>;
}

/**
 * Calls the session's models in their order until one answers (design: runs.md 3.7). A busy or broken one is retried in
 * place, then the next is tried, as after a refusal. Failures that every model would repeat, an invalid request or a
 * context that is too long, end the loop.
 */
export async function tryModels(session: Session, call: CallInHand): Promise<Answered | Stop | readonly FailedModel[]> {
  const failed: FailedModel[] = [];
  for (const [at, model] of session.models.entries()) {
    const next = session.models[at + 1];
    const end = await askInPlace(session, model, { call, hasNext: next !== undefined });
    if (!('error' in end)) return end;
    failed.push(end);
    if (isFinal(end.error)) break;
    if (next) {
      const { step, lane } = session;
      const data = { step: step.id, turn: call.turn, error: end.error.message };
      lane.writer.event('model.fallback', { ...data, ...modelFields(next) });
    }
  }
  return failed;
}

/** True for failures that another model would only repeat. */
export function isFinal({ kind, ours }: ModelError): boolean {
  return kind === 'overflow' || (kind === 'refused' && ours);
}

async function askInPlace(
  session: Session,
  model: ResolvedModel,
  { call, hasNext }: { readonly call: CallInHand; readonly hasNext: boolean },
): Promise<Answered | Stop | FailedModel> {
  const { lane, step } = session;
  for (let tries = 1; ; tries += 1) {
    const opened = await call.open();
    if ('kind' in opened) return opened;
    try {
      const began = lane.deps.clock.now();
      call.isPending = true;
      const reply = await askModel(session, model, { turn: call.turn, maxOutputTokens: opened.maxOutputTokens, tries });
      return { model, reply, ms: lane.deps.clock.now() - began };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (session.signal.aborted) throw session.signal.reason;
      call.isPending = false;
      if (error.cut) await call.bookCut(model, error, error.cut);
      // An answer that breaks off is paid for: once the call has waited, make one try at a time.
      const isTriedAgain = !error.cut || call.waits === 0;
      const waitMs = isTriedAgain ? waitInPlace(error, tries) : null;
      // Do not wait for an endpoint that is known to be down while another model may answer.
      if (waitMs === null || (error.circuit && hasNext)) return { model, error };
      const data = { step: step.id, turn: call.turn, error: error.message, waitMs };
      lane.writer.event('model.retrying', { ...data, ...modelFields(model) });
      await sleep(waitMs, session.signal);
    }
  }
}

/** The wait until the next try at the same model; null when there is none. */
export function waitInPlace({ kind, retryAfterMs }: ModelError, tries: number): number | null {
  if ((kind !== 'overloaded' && kind !== 'transient') || tries === IN_PLACE_TRIES) return null;
  const wait = retryAfterMs ?? 500 * 2 ** (tries - 1);
  return wait > IN_PLACE_MS ? null : wait;
}
