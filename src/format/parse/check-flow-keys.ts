import type { JsonObject } from '../../shared/json.js';
import { checkCel } from '../cel/index.js';
import { declares } from '../schema/index.js';
import type { ReadFlow } from './flow-model.js';
import { type FLOW_KEYS, TRIGGER_KEYS } from './keys/flow-keys.js';
import type { OpenFile } from './open-file.js';
import { report } from './source.js';

type FlowKey = keyof typeof FLOW_KEYS;

/** Checks keys of a flow that depend on each other. */
export function checkFlowKeys(file: OpenFile, flow: ReadFlow): void {
  checkTriggerKeys(file, flow);
  checkNeeds(file, flow);
  const { values, at } = flow.keys;
  const { concurrency, filter, input } = values;
  if (filter !== undefined) checkExpression(file, { key: 'filter', source: filter, at: at('filter'), input });
  if (concurrency?.key === undefined) return;
  checkExpression(file, { key: 'concurrency.key', source: concurrency.key, at: concurrency.keyOffset, input });
}

function checkTriggerKeys(file: OpenFile, { keys }: ReadFlow): void {
  // With an explicit trigger, keys of other triggers are only a warning. Without one, the trigger was
  // probably forgotten and would never fire: an error.
  if (keys.may('trigger')) return;
  for (const [key, wanted] of Object.entries(TRIGGER_KEYS)) {
    if (!keys.has(key as FlowKey)) continue;
    const message = `\`${key}\` has no effect without \`trigger: ${wanted[0]}\`.`;
    const hint = `Add \`trigger: ${wanted[0]}\`, or take \`${key}\` out.`;
    report(file, keys.at(key as FlowKey), { code: 'flow/bad-value', message, hint });
  }
}

interface Need {
  readonly when: (flow: ReadFlow) => boolean;
  readonly key: FlowKey;
  readonly at: FlowKey;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly severity?: 'warning';
}

const hasTrigger = (trigger: string) => (flow: ReadFlow) => (flow.keys.values.trigger ?? []).some((t) => t === trigger);

const NEEDS: readonly Need[] = [
  {
    when: hasTrigger('schedule'),
    key: 'cron',
    at: 'trigger',
    code: 'flow/bad-cron',
    message: 'A flow with `trigger: schedule` needs `cron:`.',
    hint: 'An example is `cron: "30 8 * * 1"`, Mondays at 8:30.',
  },
  {
    when: hasTrigger('event'),
    key: 'event',
    at: 'trigger',
    code: 'flow/bad-value',
    message: 'A flow with `trigger: event` needs `event:`.',
    hint: 'An example is `event: run.failed`.',
  },
  {
    when: hasTrigger('webhook'),
    key: 'signature',
    at: 'trigger',
    code: 'flow/unsigned-webhook',
    severity: 'warning',
    message: 'Anyone who knows the address of this webhook can start the flow: deliveries are not signed.',
    hint: 'Add `signature:` and `signing_secret:`.',
  },
  {
    when: ({ keys }) => keys.has('signature'),
    key: 'signing_secret',
    at: 'signature',
    code: 'flow/bad-value',
    message: '`signature` needs `signing_secret:`, the name of the secret that signatures are checked with.',
  },
  {
    when: ({ keys }) => keys.has('signing_secret'),
    key: 'signature',
    at: 'signing_secret',
    code: 'flow/bad-value',
    message: '`signing_secret` needs `signature:`, or nothing is checked.',
  },
  {
    when: ({ keys }) => keys.has('debounce'),
    key: 'dedupe',
    at: 'debounce',
    code: 'flow/bad-value',
    message: '`debounce` needs `dedupe:`, which says what belongs to one burst.',
  },
];

function checkNeeds(file: OpenFile, flow: ReadFlow): void {
  for (const { when, key, at, ...fault } of NEEDS) {
    if (when(flow) && !flow.keys.may(key)) report(file, flow.keys.at(at), fault);
  }
}

const ROOTS = ['input', 'trigger', 'run'] as const;

interface FlowExpression {
  readonly key: string;
  readonly source: string;
  readonly at: number;
  readonly input: JsonObject | undefined;
}

function checkExpression(file: OpenFile, { key, source, at, input }: FlowExpression): void {
  const hasField = ([root, ...path]: readonly string[]) => root === 'input' && declares(input, path);
  const read = checkCel(source, { roots: ROOTS, hasField });
  if (!read.ok) report(file, at, { code: 'flow/bad-value', message: `\`${key}\`: ${read.message}.` });
}
