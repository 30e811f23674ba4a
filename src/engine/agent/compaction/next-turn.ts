import type { Stop } from '../../../workflows/contract.js';
import { ContextOverflow, StepFailure } from '../../errors.js';
import { callModel } from '../call-model.js';
import { type Session, turnsOf } from '../session.js';
import { makeRoom } from './make-room.js';

/**
 * Makes the next model call, after the context is made to fit. A context that a provider refuses as too long is
 * compacted once.
 */
export async function nextTurn(session: Session): Promise<Stop | null> {
  const { stop } = await makeRoom(session);
  if (stop) return stop;
  try {
    return await callModel(session);
  } catch (error) {
    if (!(error instanceof ContextOverflow)) throw error;
    const isSecond = session.past.overflowAt === turnsOf(session);
    const room = isSecond ? { made: false, stop: null } : await makeRoom(session, error);
    if (room.made || room.stop) return room.stop;
    throw new StepFailure(tooLong(session, error), 'model');
  }
}

function tooLong(session: Session, error: ContextOverflow): string {
  const { name, contextTokens } = error.model;
  return (
    `the conversation does not fit into the context of ${name} (${contextTokens} tokens)` +
    `${session.past.epoch > 0 ? ', not even after it was compacted' : ''}: shorten the instruction and its documents, ` +
    `or name a model with a larger context. The provider said: ${error.message}`
  );
}
