import type { ChatMessage, ScriptPlace } from '../contract.js';
import type { ScriptTurn } from './script-file.js';

/** The turn for a place: the first whose `when` matches, else the n-th of those without one. */
export function pickTurn(
  turns: readonly ScriptTurn[],
  place: ScriptPlace,
  messages: readonly ChatMessage[],
): ScriptTurn | undefined {
  const newest = newestInput(messages);
  const matching = turns.find(({ when }) => when !== undefined && matches(when, place, newest));
  return matching ?? turns.filter(({ when }) => when === undefined)[place.turn];
}

function matches(when: NonNullable<ScriptTurn['when']>, place: ScriptPlace, newest: string): boolean {
  const { step = place.step, round = place.round, turn = place.turn + 1, attempt, contains = '' } = when;
  return (
    (step === place.step || step === place.oldStep) &&
    round === place.round &&
    turn === place.turn + 1 &&
    (attempt === undefined || attempt === (place.attempt ?? 1)) &&
    newest.includes(contains)
  );
}

/** The model's newest input: from a person or from tools. */
function newestInput(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role !== 'assistant');
  if (last?.role === 'user') return last.text;
  return last?.role === 'tool' ? last.results.map(({ text }) => text).join('\n') : '';
}
