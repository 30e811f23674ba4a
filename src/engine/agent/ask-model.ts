import type { ChatMessage, ModelReply, ResolvedModel, ToolSpec } from '../../models/contract.js';
import { type DeltaSink, deltaSink } from '../rows/deltas.js';
import { shown } from '../text/plain-text.js';
import type { Session } from './session.js';

interface Asked {
  readonly turn: number;
  /** Null leaves the limit to the provider. */
  readonly maxOutputTokens: number | null;
}

/** Makes one try of a request to one model. Withdraws the streamed text of a failed answer. */
export async function askModel(
  session: Session,
  model: ResolvedModel,
  { turn, maxOutputTokens, tries }: Asked & { readonly tries: number },
): Promise<ModelReply> {
  const { lane, step, state, agent, purpose } = session;
  const sink = sinkOf(session);
  const masked = lane.mask.redactor.stream(sink.push);
  const { temperature } = agent.config;
  try {
    const reply = await lane.deps.models.call({
      model,
      system: session.system,
      messages: openingMessages(session, turn),
      tools: toolSpecs(session, turn),
      ...(typeof temperature === 'number' ? { temperature } : {}),
      ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
      ...(step.schema && purpose === 'turn' ? { schema: step.schema } : {}),
      idempotencyKey: keyOf(session, model, turn),
      script: {
        yaml: session.script,
        agent: agent.name,
        purpose,
        step: step.id,
        oldStep: step.oldId,
        round: state.round,
        turn,
        attempt: state.attempts - 1 + tries,
        input: shown(lane.run.input ?? undefined),
      },
      signal: session.signal,
      ...(purpose === 'turn' ? { onDelta: masked.write } : {}),
    });
    masked.end();
    return lane.mask.value(reply);
  } catch (error) {
    // If another worker took the lane over, that worker emits the reset.
    if (!lane.signal.aborted) await sink.drop();
    throw lane.mask.error(error);
  } finally {
    await sink.end();
  }
}

/** Withdraws text that the call may have streamed before its process died, since the call is made again. */
export async function resetStream(session: Session): Promise<void> {
  if (session.purpose === 'turn') await sinkOf(session).reset();
}

function sinkOf({ lane, step, state }: Session): DeltaSink {
  return deltaSink(lane.deps.db, { runId: lane.run.id, step: step.id, item: state.item, round: state.round });
}

/**
 * The call's idempotency key. A provider may cache answers by key, so the key differs after a compaction, and for each
 * model of the call.
 */
function keyOf(session: Session, model: ResolvedModel, turn: number): string {
  const { lane, state, past, purpose, models } = session;
  const at = models.indexOf(model);
  return [
    ...[lane.run.id, state.id, state.item, state.round, state.attempts, turn],
    ...(past.epoch > 0 ? [`e${past.epoch}`] : []),
    ...(purpose === 'summary' ? [purpose] : []),
    ...(at > 0 ? [`m${at + 1}`] : []),
  ].join('/');
}

/**
 * The conversation as the provider gets it: the opening, then the stored transcript. On the last turn the model is
 * asked for its answer.
 */
function openingMessages(session: Session, turn: number): ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'user', text: session.opening }];
  for (const { why: _why, cut: _cut, filtered: _filtered, used: _used, seq: _seq, ...message } of session.messages)
    messages.push(message as ChatMessage);
  if (isLastTurn(session, turn))
    messages.push({ role: 'user', text: 'This is your last turn: answer now with what you have.' });
  return messages;
}

/** The last of several turns has no tools, so that the model answers. */
function toolSpecs(session: Session, turn: number): ToolSpec[] {
  return isLastTurn(session, turn) ? [] : [...session.listed];
}

function isLastTurn(session: Session, turn: number): boolean {
  return session.purpose === 'turn' && session.agent.maxTurns > 1 && turn === session.agent.maxTurns - 1;
}
