import { closest } from '../../shared/closest.js';
import { ASSERTION_TYPES, type Assertion, type AssertionResult, type AssertionType } from './assertion.js';
import { checkValue } from './check-value.js';

const STEP = /^step\(\s*([^()]*?)\s*\):\s*/;
const STEP_ID = /^[a-z_][a-z0-9_]*(\/[a-z_][a-z0-9_]*)*$/;
const TYPED = /^(not-)?([a-z][a-z-]*)(?:\(([^()]*)\))?(?::(?=\s|$)\s*|$)/;
/** One word and a colon: probably meant as a type when it is nearly one. */
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

/** Free text goes to the judge, with a warning when its first word is nearly a type. */
function statement(text: string, step: string | undefined): AssertionResult {
  if (text === '') return { ok: false, message: 'an assertion is missing' };
  const assertion: Assertion = { type: 'judge', not: false, value: text, ...(step ? { step } : {}) };
  const [, not, word] = TYPE_LIKE.exec(text) ?? [];
  const meant = word ? closest(word.replaceAll('_', '-'), [...ASSERTION_TYPES, 'step']) : undefined;
  if (!meant) return { ok: true, assertion };
  const spelled = `${not ? 'not-' : ''}${meant}`;
  return { ok: true, assertion, warning: `this goes to the judge as a statement: did you mean \`${spelled}:\`?` };
}
