import { validate } from '../../format/index.js';
import { parseJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import { errorMessage } from '../../shared/refusal.js';
import { StepFailure } from '../errors.js';
import { jsonInText } from './json-in-text.js';
import type { Entry, Session } from './session.js';

const REPAIRS = 2;
const SHOWN_CHARACTERS = 300;

export type Verdict =
  | { readonly kind: 'done'; readonly result: string; readonly data?: Json }
  | { readonly kind: 'again'; readonly why: 'repair' | 'nudge'; readonly text: string };

/**
 * Null when the turn's text is the step's answer; else the message for the model. An empty or cut answer gets one
 * nudge.
 */
export function judgeAnswer(session: Session, last: Extract<Entry, { role: 'assistant' }>): Verdict {
  const text = last.text.trim();
  const cut = last.cut === true;
  if (text === '' || (cut && session.step.output !== 'json')) {
    if (count(session, 'nudge') > 0)
      throw new StepFailure(cut ? 'the answer was cut twice' : 'the model gave no answer', 'model');
    const nudge = cut ? 'Your answer was cut. Give it again, shorter.' : 'Your answer was empty. Answer now.';
    return { kind: 'again', why: 'nudge', text: nudge };
  }
  return session.step.output === 'json' ? judgeJson(session, text) : { kind: 'done', result: last.text };
}

/** Fails the step when a content filter withheld the answer: the same request would be filtered again. */
export function refuseFiltered({ filtered, text }: Extract<Entry, { role: 'assistant' }>): void {
  if (filtered === undefined) return;
  const said = text.trim().slice(0, SHOWN_CHARACTERS);
  throw new StepFailure(
    `${filtered} refused to answer (content filter)${said === '' ? '' : `; it said: ${said}`}. ` +
      'Change the instruction or what it is given to read, or name another model',
    'model',
  );
}

function judgeJson(session: Session, text: string): Verdict {
  const found = jsonInText(text, parseJson);
  if (found.length === 0) return repair(session, [noJson(text)]);
  const { schema } = session.step;
  const judged = found.map((one) => ({ ...one, faults: schema ? validate(schema, one.value) : [] }));
  const fitting = judged.filter(({ faults }) => faults.length === 0);
  const [answer] = fitting;
  if (answer && fitting.length === 1) return { kind: 'done', result: answer.text, data: answer.value };
  if (judged.length > 1) return repair(session, [`it holds ${judged.length} JSON values, and one is asked for`]);
  return repair(session, judged[0]?.faults ?? []);
}

function noJson(text: string): string {
  const fault = jsonShapeFault(text);
  if (fault !== null) return `it ${fault}`;
  try {
    parseJson(text);
    return 'it is not JSON';
  } catch (error) {
    return `it is not JSON (${errorMessage(error)})`;
  }
}

function repair(session: Session, faults: readonly string[]): Verdict {
  const list = faults.slice(0, 20).join('; ');
  if (count(session, 'repair') >= REPAIRS)
    throw new StepFailure(`the answer does not fit the schema: ${list}`, 'model');
  return { kind: 'again', why: 'repair', text: `Your answer does not fit: ${list}. Answer again with the JSON alone.` };
}

function count({ messages, past }: Session, why: 'repair' | 'nudge'): number {
  return past.counts[why] + messages.filter((message) => message.why === why).length;
}
