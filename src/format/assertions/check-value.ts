import { parseDuration } from '../../shared/duration.js';
import { checkCel } from '../cel/index.js';
import { parseMoney } from '../values/money.js';
import { compilePattern } from '../values/pattern.js';
import type { AssertionType } from './assertion.js';

interface Outcome {
  readonly bound?: number;
  readonly wrong?: string;
}
type Check = (value: string, step: string | undefined) => Outcome;

/** `data` and the other fields are in reach inside `step(id):`, rule 8's roots elsewhere. */
const STEP_ROOTS = ['result', 'data', 'event', 'decision', 'status', 'cost', 'latency'];
const RUN_ROOTS = ['input', 'steps', 'trigger', 'run'];
const RUN_STATUSES = ['queued', 'running', 'awaiting-approval', 'completed', 'failed'];
const STEP_STATUSES = ['running', 'waiting', 'completed', 'failed', 'skipped'];
const STEP_ID = /^[a-z_][a-z0-9_]*(\/[a-z_][a-z0-9_]*)*$/;

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

/** Reads the value of one assertion type; `wrong` is a sentence. */
export function checkValue(type: AssertionType, value: string, step: string | undefined): Outcome {
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
