import type { Json } from '../../shared/json.js';
import { validate } from '../../workspace/index.js';
import { StepFailure } from '../errors.js';
import type { Entry, Session } from './session.js';

const REPAIRS = 2;
const SHOWN_CHARACTERS = 300;

export type Verdict =
  | { readonly kind: 'done'; readonly result: string; readonly data?: Json }
  | { readonly kind: 'again'; readonly why: 'repair' | 'nudge'; readonly text: string };

/** Whether the turn's text is the step's answer; if not, what the model is told. Empty or cut: one nudge. */
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

/** What a content filter let through of an answer is none, and asking again would be asking for the same. */
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
  const body = withoutFence(text);
  let data: Json;
  try {
    data = JSON.parse(body) as Json;
  } catch (error) {
    return repair(session, [`it is no JSON (${error instanceof Error ? error.message : 'unreadable'})`]);
  }
  const faults = session.step.schema ? validate(session.step.schema, data) : [];
  return faults.length > 0 ? repair(session, faults) : { kind: 'done', result: body, data };
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

/** Takes one fence off, if the whole text stands in one. In time of its length: a model may write marks without end. */
export function withoutFence(text: string): string {
  const whole = text.trim();
  const open = /^(?:`{3,}|~{3,})/.exec(whole)?.[0].length ?? 0;
  const begins = whole.indexOf('\n') + 1;
  let ends = whole.length;
  while (ends > begins && whole[ends - 1] === whole[0] && whole.length - ends < open) ends -= 1;
  return open > 0 && begins > open && whole.length - ends >= 3 ? whole.slice(begins, ends).trim() : whole;
}
