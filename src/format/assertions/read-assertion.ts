import { closest } from '../../shared/closest.js';
import { parseDuration } from '../../shared/duration.js';
import { checkCel } from '../cel/index.js';
import { parseMoney } from '../values/money.js';
import { compilePattern } from '../values/pattern.js';
import { ASSERTION_TYPES, type Assertion, type AssertionResult, type AssertionType } from './assertion.js';

/** The roots inside `step(id):`. Elsewhere the roots of rule 8 apply. */
const STEP_ROOTS = ['result', 'data', 'event', 'decision', 'status', 'cost', 'latency'];

const RUN_ROOTS = ['input', 'steps', 'trigger', 'run'];

const RUN_STATUSES = ['queued', 'running', 'awaiting-approval', 'completed', 'failed'];

const STEP_STATUSES = ['running', 'waiting', 'completed', 'failed', 'skipped'];

const needed: Check = (value) => (value === '' ? { wrong: 'a value is missing after the colon' } : {});

const checks: Readonly<Record<AssertionType, Check>> = {
  contains: needed,
  icontains: needed,
  equals: () => ({}),
  'starts-with': needed,
  regex: checkRegex,
  'is-json': (value) => (value === '' ? {} : { wrong: '`is-json` takes no value' }),
  judge: needed,
  cel: checkExpression,
  cost: checkCost,
  latency: checkLatency,
  'tool-called': checkTool,
  status: checkStatus,
  'parked-at': (value) => (STEP_ID.test(value) ? {} : { wrong: '`parked-at` takes the id of a step' }),
};

const STEP = /^step\(\s*([^()]*?)\s*\):\s*/;

const STEP_ID = /^[a-z_][a-z0-9_]*(\/[a-z_][a-z0-9_]*)*$/;

const TYPED = /^(not-)?([a-z][a-z-]*)(?:\(([^()]*)\))?(?::(?=\s|$)\s*|$)/;

/** One word and a colon: probably meant as a type if it is close to one. */
const TYPE_LIKE = /^(not[-_ ])?([A-Za-z][A-Za-z_-]*)\s*(?:\([^()]*\))?\s*(?::|$)/;

const TAKES_ARGUMENT: readonly AssertionType[] = ['judge'];

/** Reads one bullet of `### Expect`, without its bullet mark. Never throws. */
export function readAssertion(line: string): AssertionResult {
  const text = line.trim();
  const scope = STEP.exec(text);
  if (!scope) return readTyped(text, undefined);
  const step = scope[1] ?? '';
  if (!STEP_ID.test(step)) return { ok: false, message: '`step(…)` takes the id of a step, like step(draft)' };
  return readTyped(text.slice(scope[0].length), step);
}

function readTyped(text: string, step: string | undefined): AssertionResult {
  const match = TYPED.exec(text);
  const type = ASSERTION_TYPES.find((known) => known === match?.[2]);
  const bare = match !== null && !match[0].includes(':');
  if (!match || !type || (bare && type !== 'is-json')) return statement(text, step);
  const [head, not, , arg] = match;
  if (arg !== undefined && !TAKES_ARGUMENT.includes(type)) return { ok: false, message: `\`${type}\` takes no (…)` };
  const value = text.slice(head.length).trim();
  const checked = checkValue(type, value, step);
  if (checked.wrong !== undefined) return { ok: false, message: checked.wrong };
  const { bound } = checked;
  const assertion: Assertion = {
    type,
    not: not !== undefined,
    value,
    ...(step ? { step } : {}),
    ...(arg ? { arg: arg.trim() } : {}),
    ...(bound === undefined ? {} : { bound }),
  };
  return { ok: true, assertion };
}

/** Free text goes to the judge, with a warning when its first word is close to a type. */
function statement(text: string, step: string | undefined): AssertionResult {
  if (text === '') return { ok: false, message: 'an assertion is missing' };
  const assertion: Assertion = { type: 'judge', not: false, value: text, ...(step ? { step } : {}) };
  const [, not, word] = TYPE_LIKE.exec(text) ?? [];
  const meant = word ? closest(word.replaceAll('_', '-'), [...ASSERTION_TYPES, 'step']) : undefined;
  if (!meant) return { ok: true, assertion };
  const spelled = `${not ? 'not-' : ''}${meant}`;
  return { ok: true, assertion, warning: `this goes to the judge as a statement: did you mean \`${spelled}:\`?` };
}

interface Outcome {
  readonly bound?: number;
  readonly wrong?: string;
}

type Check = (value: string, step: string | undefined) => Outcome;

/** Reads the value of one assertion type; `wrong` is a sentence. */
function checkValue(type: AssertionType, value: string, step: string | undefined): Outcome {
  return checks[type](value, step);
}

function checkRegex(value: string): Outcome {
  if (value === '') return { wrong: '`regex` takes an RE2 pattern' };
  try {
    compilePattern(value);
    return {};
  } catch (error) {
    return { wrong: `the pattern is not RE2: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function checkExpression(value: string, step: string | undefined): Outcome {
  const checked = checkCel(value, { roots: step === undefined ? RUN_ROOTS : [...STEP_ROOTS, ...RUN_ROOTS] });
  return checked.ok ? {} : { wrong: checked.message };
}

function checkCost(value: string): Outcome {
  const bound = parseMoney(value);
  return bound === undefined ? { wrong: '`cost` takes an amount in USD, like 0.60' } : { bound };
}

function checkLatency(value: string): Outcome {
  const bound = parseDuration(value);
  return bound === undefined ? { wrong: '`latency` takes a duration, like 90s or 5m' } : { bound };
}

function checkTool(value: string): Outcome {
  return /^[A-Za-z][\w-]*(\.[\w.-]+)?$/.test(value) ? {} : { wrong: '`tool-called` takes a tool or tool.operation' };
}

function checkStatus(value: string, step: string | undefined): Outcome {
  const statuses = step === undefined ? RUN_STATUSES : STEP_STATUSES;
  return statuses.includes(value) ? {} : { wrong: `\`status\` is one of ${statuses.join(', ')}` };
}
