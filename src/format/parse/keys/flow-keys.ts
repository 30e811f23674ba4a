import type { JsonObject } from '../../../shared/json.js';
import { picoschema } from '../../schema/index.js';
import { readCron } from '../../values/cron.js';
import { checked, listOf, ref, refs } from '../list-readers.js';
import { nestedKeys } from '../nested-keys.js';
import { type KeyTable, key } from '../read-keys.js';
import { duration, flag, integer, money, oneOf, type Reader, show, text } from '../reader.js';
import { notify, timezone } from './common-keys.js';

export const TRIGGERS = ['manual', 'webhook', 'email', 'event', 'schedule'] as const;
const WORKSPACE_EVENTS = [
  'run.completed',
  'run.failed',
  'eval.failed',
  'deploy.applied',
  'push',
  'storage.written',
] as const;
/** What happens in a workspace that flows can be started by. */
export type WorkspaceEvent = (typeof WORKSPACE_EVENTS)[number];
export const PATTERNS = ['blank', 'chain', 'parallel', 'route', 'review', 'loop'] as const;

const concurrencyTable = {
  limit: key(integer(1, 10_000), 'How many runs go at once.', { required: true }),
  key: key(text, 'CEL: runs with the same value count together.'),
  on_limit: key(oneOf(['queue', 'skip', 'cancel']), 'What happens to a run over the limit; `queue` when left out.'),
} satisfies KeyTable;

export interface ReadConcurrency {
  readonly limit: number;
  readonly key?: string;
  readonly keyOffset: number;
  readonly onLimit: 'queue' | 'skip' | 'cancel';
}

const concurrency: Reader<ReadConcurrency> = {
  type: 'map',
  read: (node, fail) => {
    const values = nestedKeys(concurrencyTable, node, fail);
    if (values?.limit === undefined) return undefined;
    const keyOffset = node.entries?.get('key')?.node.offset ?? node.offset;
    const { limit, key: by, on_limit: onLimit = 'queue' } = values;
    return { limit, ...(by === undefined ? {} : { key: by }), keyOffset, onLimit };
  },
};

const input: Reader<JsonObject> = {
  type: 'schema',
  read: (node, fail) => {
    const read = picoschema(node.value);
    return read.ok ? read.schema : fail(node.offset, `This is not a valid schema: ${read.message}.`);
  },
};

/** Normalizes the white space between fields to one blank. */
const cron: Reader<string> = {
  type: 'cron',
  read: (node, fail) => {
    const value = text.read(node, fail);
    const read = value === undefined ? undefined : readCron(value);
    if (read === undefined || read.ok) return read?.cron;
    return fail(node.offset, `${read.message}.`);
  },
};

const dedupe = checked(text, (value) =>
  /^(header [A-Za-z0-9-]+|body(\.[A-Za-z0-9_-]+)+)$/.test(value)
    ? undefined
    : `This must be \`header <name>\` or \`body.<path>\`, not ${show(value)}.`,
);

export const FLOW_KEYS = {
  name: key(ref, 'The file’s name.'),
  description: key(text, 'What the flow is for.'),
  pattern: key(oneOf(PATTERNS), 'What the flow was created from.'),
  enabled: key(flag, '`false` keeps its triggers from starting it.'),
  trigger: key(listOf(oneOf(TRIGGERS)), 'What starts it; `manual` when left out.'),
  signature: key(oneOf(['code_host', 'payment', 'chat', 'hmac']), 'Whose way of signing webhook deliveries use.'),
  signing_secret: key(ref, 'The secret that signatures are checked with.'),
  signature_header: key(text, 'The header with the signature, for `hmac`.'),
  dedupe: key(dedupe, 'What makes two deliveries the same: `header <name>` or `body.<path>`.'),
  filter: key(text, 'CEL over the delivery: false starts nothing.'),
  debounce: key(duration, 'One run for a burst with one dedupe key.'),
  from: key(listOf(text), 'Whose mail starts the flow: addresses or `@domain`.'),
  event: key(listOf(oneOf(WORKSPACE_EVENTS)), 'Which event of this workspace starts it.'),
  cron: key(cron, 'When it starts: minute hour day month weekday.', { code: 'flow/bad-cron' }),
  timezone: key(timezone, 'The time zone of `cron`.', { code: 'flow/bad-timezone' }),
  catch_up: key(oneOf(['last', 'none', 'all']), 'Which missed times are made up for.'),
  overlap: key(oneOf(['skip', 'queue', 'allow', 'cancel']), 'What happens to a time while the last run is active.'),
  input: key(input, 'Shape of the input.'),
  budget: key(money, 'Most that a run may cost, in USD.'),
  on_budget: key(oneOf(['stop', 'ask']), 'What happens when the budget is used up; `stop` when left out.'),
  secrets: key(refs, 'Secrets that its steps may use.'),
  notify: key(notify, 'Recipients and events of notifications.'),
  timeout: key(duration, 'Longest that a run may take, parks included.'),
  concurrency: key(concurrency, '`{ limit, key, on_limit }`'),
  tags: key(listOf(text), 'Tags of its runs.'),
} satisfies KeyTable;

/** Keys that apply to one trigger only. */
export const TRIGGER_KEYS: Readonly<Record<string, readonly string[]>> = {
  signature: ['webhook'],
  signing_secret: ['webhook'],
  signature_header: ['webhook'],
  dedupe: ['webhook', 'email', 'event'],
  filter: ['webhook', 'email', 'event'],
  debounce: ['webhook', 'email', 'event'],
  from: ['email'],
  event: ['event'],
  cron: ['schedule'],
  catch_up: ['schedule'],
  overlap: ['schedule'],
};
