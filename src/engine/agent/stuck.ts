import { canonicalJson } from '../../shared/json.js';
import { StepFailure } from '../errors.js';
import { checkCall } from './invalid-call.js';
import type { Entry, Session } from './session.js';

const SAME_CALLS_FAIL = 6;
const INVALID_CALLS_FAIL = 5;

/** The same call six times in a row, or five invalid ones, is a model that goes round in circles: the step fails. */
export function guardAgainstLoops(session: Session): void {
  const calls = session.messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
  const keys = calls.map((call) => `${call.name} ${canonicalJson(call.args)}`);
  const last = calls.at(-1);
  if (last && trailing(keys, (key) => key === keys.at(-1)) >= SAME_CALLS_FAIL) {
    throw new StepFailure(
      `stuck: ${last.name} was called ${SAME_CALLS_FAIL} times in a row with the same arguments`,
      'model',
    );
  }
  if (trailing(calls, (call) => checkCall(session, call) !== null) >= INVALID_CALLS_FAIL) {
    throw new StepFailure(`stuck: ${INVALID_CALLS_FAIL} calls in a row were not valid`, 'model');
  }
}

function trailing<T>(list: readonly T[], holds: (entry: T) => boolean): number {
  let count = 0;
  while (count < list.length && holds(list[list.length - 1 - count] as T)) count += 1;
  return count;
}

/** True when the newest calls repeat three times: the model is told so, once, with the results. */
export function repeatsItself(messages: readonly Entry[]): boolean {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
  const keys = calls.map((call) => `${call.name} ${canonicalJson(call.args)}`);
  return trailing(keys, (key) => key === keys.at(-1)) === 3;
}
