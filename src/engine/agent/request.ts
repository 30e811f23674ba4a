import type { ChatMessage, ToolSpec } from '../../models/contract.js';
import type { Session } from './session.js';

/**
 * The conversation as the provider gets it: the opening, then the stored transcript. On the last turn the model is
 * asked for its answer.
 */
export function openingMessages(session: Session, turn: number): ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'user', text: session.opening }];
  for (const { why: _why, cut: _cut, filtered: _filtered, used: _used, seq: _seq, ...message } of session.messages)
    messages.push(message as ChatMessage);
  if (isLastTurn(session, turn))
    messages.push({ role: 'user', text: 'This is your last turn: answer now with what you have.' });
  return messages;
}

/** No tools on the last of several turns, so that the model answers. */
export function toolSpecs(session: Session, turn: number): ToolSpec[] {
  return isLastTurn(session, turn) ? [] : [...session.listed];
}

function isLastTurn(session: Session, turn: number): boolean {
  return session.purpose === 'turn' && session.agent.maxTurns > 1 && turn === session.agent.maxTurns - 1;
}
