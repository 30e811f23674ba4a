import { createHash } from 'node:crypto';
import type { ToolCall } from '../../models/contract.js';
import { canonicalJson } from '../../shared/json.js';
import { realCall } from '../../tools/index.js';
import { StepFailure } from '../errors.js';
import { checkCall } from './invalid-call.js';
import type { Entry, Session } from './session.js';

const SAME_CALLS_WARN = 3;
const SAME_CALLS_FAIL = 6;
const INVALID_CALLS_FAIL = 5;
/**
 * Number of newest calls that are checked. One turn may have many calls, so this is far above the limits for equal
 * calls.
 */
const LOOK_BACK = 64;

/** What identifies a call when repeated calls are counted. */
export interface CallSign {
  readonly name: string;
  /** The digest of name and arguments. */
  readonly key: string;
  readonly invalid: boolean;
}

/** Fails the step when the model makes the same call six times in a row, or five invalid calls in a row. */
export function guardAgainstLoops(session: Session): void {
  const signs = newestSigns(session);
  const last = signs.at(-1);
  if (last && trailing(signs, ({ key }) => key === last.key) >= SAME_CALLS_FAIL) {
    throw new StepFailure(
      `stuck: ${last.name} was called ${SAME_CALLS_FAIL} times in a row with the same arguments`,
      'model',
    );
  }
  if (trailing(signs, ({ invalid }) => invalid) >= INVALID_CALLS_FAIL) {
    throw new StepFailure(`stuck: ${INVALID_CALLS_FAIL} calls in a row were not valid`, 'model');
  }
}

/**
 * True when the newest turn brings the number of equal calls in a row to three or more: the model is then warned once,
 * with the results.
 */
export function repeatsItself(session: Session): boolean {
  const signs = newestSigns(session);
  const newest = session.messages.findLast((message) => message.role === 'assistant');
  const inTurn = newest?.role === 'assistant' ? newest.calls.length : 0;
  return wasReached(
    signs.map(({ key }) => key),
    inTurn,
  );
}

/** True if the last `fresh` keys brought the number of equal keys at the end to three. */
export function wasReached(keys: readonly string[], fresh: number): boolean {
  const row = trailing(keys, (key) => key === keys.at(-1));
  return row >= SAME_CALLS_WARN && row - fresh < SAME_CALLS_WARN;
}

/** The newest calls, including those of summarized turns. Their number does not grow with the transcript. */
export function newestSigns(session: Session): readonly CallSign[] {
  const calls: ToolCall[] = [];
  for (let at = session.messages.length - 1; at >= 0 && calls.length < LOOK_BACK; at -= 1) {
    const message = session.messages[at] as Entry;
    if (message.role === 'assistant') calls.unshift(...message.calls);
  }
  return [...session.past.trail, ...calls.map((call) => signOf(session, call))].slice(-LOOK_BACK);
}

const signs = new WeakMap<ToolCall, CallSign>();

function signOf(session: Session, made: ToolCall): CallSign {
  const known = signs.get(made);
  if (known) return known;
  const call = realCall(made);
  const key = createHash('sha256')
    .update(canonicalJson([call.name, call.args]))
    .digest('base64url');
  const sign = { name: call.name, key, invalid: checkCall(session, call) !== null };
  signs.set(made, sign);
  return sign;
}

function trailing<T>(list: readonly T[], holds: (entry: T) => boolean): number {
  let count = 0;
  while (count < list.length && holds(list[list.length - 1 - count] as T)) count += 1;
  return count;
}
