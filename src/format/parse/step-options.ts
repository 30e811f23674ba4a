import { parseDuration } from '../../shared/duration.js';
import { isEmail } from '../../shared/email.js';
import type { JsonObject } from '../../shared/json.js';
import type { RetryPlan } from '../model.js';
import { picoschema } from '../schema/index.js';
import type { YamlNode } from '../yaml/read-yaml.js';
import { checked, listOf, ref, refs } from './list-readers.js';
import { nestedKeys } from './nested-keys.js';
import { type KeyTable, key } from './read-keys.js';
import {
  duration,
  type Fail,
  flag,
  integer,
  json,
  money,
  object,
  oneOf,
  type Reader,
  show,
  text,
  word,
} from './reader.js';

const NAME = /^[a-z_][a-z0-9_]*$/;

const cel: Reader<string> = { ...text, type: 'CEL' };

const identifier = checked(text, (value) =>
  NAME.test(value) ? undefined : `This must be a name such as \`order\` (a–z, 0–9, _), not ${show(value)}.`,
);

const retryTable = {
  max: key(integer(1, 100), 'Attempts in all.', { required: true }),
  wait: key(duration, 'Pause before the second attempt.'),
  backoff: key(
    checked({ ...json, type: 'number' }, (value) =>
      typeof value === 'number' && value >= 1 && value <= 10 ? undefined : 'This must be a number from 1 to 10.',
    ) as Reader<number>,
    'What each further pause is multiplied by.',
  ),
  on: key(listOf(oneOf(['timeout', 'tool', 'model'])), 'Which failures are tried again; all of them when left out.'),
} satisfies KeyTable;

const retry: Reader<RetryPlan> = {
  type: 'integer or map',
  read: (node, fail) => {
    if (node.entries === undefined) {
      const max = integer(1, 100).read(node, fail);
      return max === undefined ? undefined : { max, waitMs: 0, backoff: 1, on: [] };
    }
    const values = nestedKeys(retryTable, node, fail);
    if (values?.max === undefined) return undefined;
    return { max: values.max, waitMs: values.wait ?? 0, backoff: values.backoff ?? 1, on: values.on ?? [] };
  },
};

const escalateTable = {
  after: key(duration, 'How long after the gate opened.', { required: true }),
  to: key(text, 'Who is asked then: an email address, `owner` or `role:<role>`.', { required: true }),
} satisfies KeyTable;

const escalate: Reader<{ readonly afterMs: number; readonly to: string }> = {
  type: 'map',
  read: (node, fail) => {
    const values = nestedKeys(escalateTable, node, fail);
    if (values?.after === undefined || values.to === undefined) return undefined;
    if (!isApprover(values.to)) return fail(node.offset, notApprover(values.to));
    return { afterMs: values.after, to: values.to };
  },
};

const approvers: Reader<readonly string[]> = {
  type: '`human` or list of deciders',
  read: (node, fail) => {
    const list = refs.read(node, fail) ?? [];
    if (list.length === 0) return node.items?.length === 0 ? fail(node.offset, 'No one could decide.') : undefined;
    for (const { name, offset } of list) if (!isApprover(name)) fail(offset, notApprover(name));
    return list.map(({ name }) => name);
  },
};

export function isApprover(name: string): boolean {
  return /^(human|owner|role:(editor|admin|owner))$/.test(name) || isEmail(name);
}

function notApprover(name: string): string {
  return `${show(name)} cannot decide: name \`human\`, \`owner\`, \`role:editor\`, \`role:admin\` or an email address.`;
}

const need: Reader<number | 'all'> = {
  type: 'integer or `all`',
  read: (node, fail) => (node.value === 'all' ? 'all' : integer(1, 50).read(node, fail)),
};

export type WaitValue = { readonly kind: 'event' } | { readonly kind: 'timer'; readonly ms: number };

const wait: Reader<WaitValue> = {
  type: '`event` or duration',
  read: ({ value, offset }, fail) => {
    if (value === 'event') return { kind: 'event' };
    const ms = typeof value === 'string' ? parseDuration(value) : undefined;
    if (ms !== undefined) return { kind: 'timer', ms };
    return fail(offset, `This must be \`event\` or a duration such as \`2h\`, not ${show(value)}.`);
  },
};

const schema: Reader<JsonObject> = {
  type: 'schema',
  read: (node: YamlNode, fail: Fail) => {
    const read = picoschema(node.value);
    return read.ok ? read.schema : fail(node.offset, `This is not a valid schema: ${read.message}.`);
  },
};

/** Options whose value is the rest of the line, unchanged. */
export const RAW_OPTIONS: ReadonlySet<string> = new Set(['when', 'until', 'each']);

export const STEP_OPTIONS = {
  id: key(word, 'Name of the step in expressions; the folded title when left out.'),
  output: key(oneOf(['text', 'json']), 'What the step answers; `json` is parsed into `data`.'),
  schema: key(schema, 'Shape of the JSON answer.', { code: 'step/bad-schema' }),
  when: key(cel, 'The step runs only when this is true.'),
  each: key(cel, 'Runs the step once for each item of this list.'),
  as: key(identifier, 'Name of the item; `item` when left out.'),
  parallel: key(integer(1, 100), 'How many items run at once; 1 when left out.'),
  until: key(cel, 'Read after the step: while it is false the flow goes back to `back_to`.'),
  back_to: key(ref, 'The earlier step that `until` goes back to.'),
  max_rounds: key(integer(1, 100), 'How often the step may send the flow back.'),
  retry: key(retry, 'Attempts in all, or `{ max, wait, backoff, on }`.'),
  budget: key(money, 'Most that the step may cost, in USD.'),
  timeout: key(duration, 'Longest time of the work; with a gate or a wait, how long that stays open.'),
  on_fail: key(ref, '`stop`, `continue` or an earlier step.'),
  model: key(ref, 'The model in place of the agent’s.'),
  tools: key(refs, 'Limits the agent’s tools to these.'),
  secrets: key(refs, 'Secrets that this step may use.'),
  subflow: key(ref, 'The flow that does the step.'),
  with: key(object, 'Input of the subflow.'),
  wait: key(wait, '`event`, or a duration.'),
  approve: key(approvers, 'Who decides: `human`, or a list of email addresses, `role:admin`, `owner`.'),
  need: key(need, 'How many distinct persons must approve.'),
  edit: key(refs, 'Steps whose result the decider may change.'),
  form: key(schema, 'Fields that the decider fills in.', { code: 'step/bad-schema' }),
  remind: key(duration, 'Interval of reminders to the deciders.'),
  escalate: key(escalate, '`{ after, to }`: a further decider after a while.'),
  self: key(flag, '`false` excludes the person who started the run.'),
  on_timeout: key(ref, 'Gate: `reject`, `fail`, `continue` or an earlier step; wait: the same without `reject`.'),
  on_reject: key(ref, '`stop`, `continue` or an earlier step.'),
} satisfies KeyTable;

export const GROUP_OPTIONS = {
  id: STEP_OPTIONS.id,
  when: STEP_OPTIONS.when,
  join: key(oneOf(['all', 'any']), 'Whether all branches or the first of them end the group.'),
} satisfies KeyTable;
