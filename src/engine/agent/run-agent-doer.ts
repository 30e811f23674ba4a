import { validate } from '../../format/index.js';
import { parseJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import { errorMessage } from '../../shared/refusal.js';
import { TOO_LONG } from '../clocks/end-overdue.js';
import { StepFailure } from '../errors.js';
import type { Doer, Done } from '../steps/kinds.js';
import { settleAllInterrupted } from './call-model.js';
import { nextTurn } from './compaction/next-turn.js';
import { openSession } from './open-session.js';
import { runTools } from './run-tools.js';
import { addMessage, type Entry, type Session } from './session.js';
import { recordFileEvents, storeFiles } from './store-files.js';

/** Text of at least this many characters is checked before it is parsed. */
const LARGE = 65_536;

const CLOSERS: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

const REPAIRS = 2;

const SHOWN_CHARACTERS = 300;

/** Runs an agent's turns until it has answered: a model call, then all its tool calls in parallel, and so on. */
export const runAgentDoer: Doer = async (lane, step, state) => {
  const session = await openSession(lane, step, state);
  state.isNew = false;
  try {
    return await converse(session);
  } catch (error) {
    const failure = session.timedOut() ? new StepFailure(TOO_LONG, 'timeout') : error;
    // Store the files of a failed step for inspection, and do not leave them for the lane's next agent.
    if (failure instanceof StepFailure) recordFileEvents(session, await storeFiles(session));
    throw failure;
  } finally {
    await session.close();
  }
};

async function converse(session: Session): Promise<Done> {
  const { lane } = session;
  for (;;) {
    if (session.timedOut()) {
      settleAllInterrupted(session);
      throw session.signal.reason;
    }
    const last = session.messages.at(-1);
    if (last?.role === 'assistant') {
      refuseFiltered(last);
      if (last.calls.length > 0) {
        const stop = await runTools(session, last);
        if (stop) return { kind: 'stop', stop };
      } else {
        const verdict = judgeAnswer(session, last);
        if (verdict.kind === 'done') return finish(session, verdict);
        addMessage(session, { role: 'user', text: verdict.text, why: verdict.why });
      }
    }
    if (lane.leaving()) {
      await lane.writer.flush();
      return { kind: 'stop', stop: { kind: 'again' } };
    }
    const stop = await nextTurn(session);
    if (stop) return { kind: 'stop', stop };
  }
}

async function finish(session: Session, answer: Extract<Done, { kind: 'done' }>): Promise<Done> {
  const { lane } = session;
  if (session.hasFolder()) {
    // The last call is paid for: make it durable while the step's files are stored.
    lane.writer.flushSoon();
    recordFileEvents(session, await storeFiles(session));
  }
  return answer;
}

type Verdict =
  | { readonly kind: 'done'; readonly result: string; readonly data?: Json }
  | { readonly kind: 'again'; readonly why: 'repair' | 'nudge'; readonly text: string };

/**
 * Null when the turn's text is the step's answer; else the message for the model. An empty or cut answer gets one
 * nudge.
 */
function judgeAnswer(session: Session, last: Extract<Entry, { role: 'assistant' }>): Verdict {
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
function refuseFiltered({ filtered, text }: Extract<Entry, { role: 'assistant' }>): void {
  if (filtered === undefined) return;
  const shownText = text.trim().slice(0, SHOWN_CHARACTERS);
  throw new StepFailure(
    `${filtered} refused to answer (content filter)${shownText === '' ? '' : `; it said: ${shownText}`}. ` +
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

/** A JSON value in a text, with its source text. */
interface Found<T> {
  readonly text: string;
  readonly value: T;
}

/**
 * The JSON values of a model's answer: the whole text, the content of its fence, or else each object and array within
 * prose. Truncated JSON yields nothing, not even its complete parts. Takes linear time.
 */
export function jsonInText<T>(text: string, parse: (text: string) => T): readonly Found<T>[] {
  const read = (candidate: string): readonly Found<T>[] => {
    if (candidate.length > LARGE && jsonShapeFault(candidate) !== null) return [];
    try {
      return [{ text: candidate, value: parse(candidate) }];
    } catch {
      return [];
    }
  };
  for (const candidate of [text.trim(), withoutFence(text)]) {
    const found = read(candidate);
    if (found.length > 0) return found;
  }
  return bracketed(text).flatMap(read);
}

/** Removes a fence around the whole text, closed or not. A model may write backticks without end. */
export function withoutFence(text: string): string {
  const whole = text.trim();
  const open = /^(?:`{3,}|~{3,})/.exec(whole)?.[0].length ?? 0;
  const begins = whole.indexOf('\n') + 1;
  if (open === 0 || begins <= open) return whole;
  let ends = whole.length;
  while (ends > begins && whole[ends - 1] === whole[0] && whole.length - ends < open) ends -= 1;
  return whole.slice(begins, whole.length - ends >= 3 ? ends : undefined).trim();
}

/** The outermost balanced brackets; none when the last is never closed, since the text may be truncated. */
function bracketed(text: string): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (CLOSERS[text[at] ?? ''] === undefined) continue;
    const end = endOfBrackets(text, at);
    if (end === null) return [];
    found.push(text.slice(at, end));
    at = end - 1;
  }
  return found;
}

function endOfBrackets(text: string, start: number): number | null {
  const closers: string[] = [];
  let isString = false;
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at] ?? '';
    if (isString && sign === '\\') at += 1;
    else if (sign === '"') isString = !isString;
    else if (!isString && CLOSERS[sign] !== undefined) closers.push(CLOSERS[sign]);
    else if (!isString && sign === closers.at(-1)) closers.pop();
    if (closers.length === 0) return at + 1;
  }
  return null;
}
