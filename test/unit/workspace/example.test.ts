import { format } from 'prettier';
import { expect, test } from 'vitest';
import type { Plan, StepPlan } from '../../../src/format/index.js';
import { check, kettleAndLeaf } from './tree.js';

const EXAMPLE = kettleAndLeaf();

function plan(files: Readonly<Record<string, string>>, name = 'flows/refund-request'): Plan | undefined {
  const { issues, workspace } = check(files);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  return workspace?.plans[name];
}

test('the plan of refund-request says what its file says', () => {
  const read = plan(EXAMPLE);
  expect(read).toMatchObject({
    version: 1,
    flow: 'refund-request',
    steps: 8,
    triggers: ['webhook'],
    trigger: { signature: 'hmac', signing_secret: 'SHOP_WEBHOOK_SECRET', dedupe: 'header x-delivery-id' },
    budgetUsd: 1.5,
    onBudget: 'ask',
    secrets: ['SHOP_API_KEY'],
    concurrency: { limit: 4, key: 'input.order_id', onLimit: 'queue' },
    workspace: { timezone: 'Europe/Warsaw', budgetUsd: 60, models: { default: ['openai/gpt-5-mini'] } },
  });
  expect(read?.nodes.map(({ id, kind }) => `${kind} ${id}`)).toEqual([
    'step read',
    'group gather_facts',
    'step ask_for_a_photo',
    'step draft',
    'step finance_signs_off',
    'step pay_and_reply',
    'step send_the_answer',
  ]);
  const gate = read?.nodes[4] as StepPlan | undefined;
  expect(gate?.gate).toEqual({
    approvers: ['role:admin', 'finance@kettleandleaf.example'],
    need: 1,
    self: false,
    edit: ['draft'],
    remindMs: 4 * 3_600_000,
    escalate: { afterMs: 86_400_000, to: 'owner' },
    timeoutMs: 2 * 86_400_000,
    onTimeout: 'reject',
    onReject: 'draft',
  });
  expect(Object.keys(read?.agents ?? {})).toEqual(['courier-analyst', 'shop-analyst', 'triager', 'writer']);
  expect(read?.agents.writer).toMatchObject({
    builtins: ['Read', 'Write'],
    grants: ['send-email'],
    approve: ['send-email'],
    memory: 'memory/customers/',
    knowledge: ['knowledge/tone-of-voice.md', 'knowledge/refund-policy.md'],
    network: ['crm.kettleandleaf.example'],
  });
});

test('an agent alone is a plan of one step whose instruction is the task', () => {
  const read = plan(EXAMPLE, 'agents/shop-analyst');
  expect(read).toMatchObject({ flow: 'agents/shop-analyst', steps: 1, triggers: ['manual'] });
  expect(read?.nodes).toMatchObject([{ agent: 'shop-analyst', instruction: [{ kind: 'value', path: 'input' }] }]);
  expect(read?.agents['shop-analyst']?.tools.map(({ name, transport }) => [name, transport])).toEqual([
    ['shop', 'http'],
    ['working-days', 'script'],
  ]);
});

test('an eval compiles to its cases', () => {
  const [read] = check(EXAMPLE).workspace?.evals ?? [];
  expect(read).toMatchObject({ target: 'flows/refund-request', judge: 'judge', budgetUsd: 2, trigger: 'push' });
  expect(read?.cases[0]).toMatchObject({
    tags: ['money', 'smoke'],
    input: { order_id: 'A-1042' },
    decisions: [{ step: 'finance_signs_off', decision: 'approve', note: 'Checked with the supplier' }],
    tools: { 'shop.list_refunds': [[]], 'send-email': [{ ok: true }] },
  });
  expect(read?.cases[0]?.expect.map(({ type, step }) => [type, step])).toEqual([
    ['status', 'finance_signs_off'],
    ['cel', 'read'],
    ['icontains', 'draft'],
    ['tool-called', undefined],
    ['cost', undefined],
    ['judge', undefined],
  ]);
});

test('a plan is plain JSON', () => {
  const read = plan(EXAMPLE);
  expect(JSON.parse(JSON.stringify(read))).toEqual(read);
});

function mapTexts(change: (text: string, path: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(EXAMPLE).map(([path, text]) => [path, change(text, path)]));
}

test('carriage returns and a byte order mark change nothing', () => {
  const flowOnly = (change: (text: string) => string) =>
    mapTexts((text, path) => (/^(flows|agents|evals)/.test(path) ? change(text) : text));
  expect(plan(flowOnly((text) => text.replaceAll('\n', '\r\n')))).toEqual(plan(EXAMPLE));
  expect(plan(flowOnly((text) => `\uFEFF${text}`))).toEqual(plan(EXAMPLE));
});

/** Texts may wrap elsewhere, and nothing else may change. */
function unwrapped(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/(?:\\n|\s)+/g, ' '));
}

test.each(['always', 'never', 'preserve'] as const)(
  'prettier with proseWrap %s leaves the model as it is',
  async (proseWrap) => {
    const files: Record<string, string> = { ...EXAMPLE };
    for (const [path, text] of Object.entries(EXAMPLE)) {
      if (/^flows\//.test(path)) files[path] = await format(text, { parser: 'markdown', proseWrap });
    }
    for (const name of ['flows/refund-request', 'flows/pay-refund', 'flows/weekly-digest']) {
      expect(unwrapped(plan(files, name))).toEqual(unwrapped(plan(EXAMPLE, name)));
    }
  },
);
