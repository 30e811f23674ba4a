import type { FakeAnswer, FakeCall } from '../../test/support/fake-provider.js';

interface FlowKind {
  readonly body: string;
  readonly settings?: string;
  /** How a run of it ends, whatever happens to the processes. */
  readonly ends: 'completed' | RegExp;
  readonly decision?: 'approve' | 'reject';
  /** It is stopped at some time. */
  readonly stopped?: true;
}

/** What is run in the storm: each kind of stop that a run knows, and acting calls on either side of it. */
export const FLOWS = {
  plain: { body: '## One @worker\n\n1.\n\n## Two @worker\n\n2.\n\n## Three @worker\n\n3.', ends: 'completed' },
  tools: { body: '## Tool one @worker\n\n1.\n\n## Tool two @worker\n\n2.', ends: 'completed' },
  gate: {
    body: '## Tool one @worker\n\n1.\n\n## Sign\n\n- approve: human\n\nOK?\n\n## Tool two @worker\n\n2.',
    ends: 'completed',
    decision: 'approve',
  },
  refused: {
    body: '## One @worker\n\n1.\n\n## Sign\n\n- approve: human\n\nOK?',
    ends: /rejected by/,
    decision: 'reject',
  },
  event: { body: '## Ask @worker\n\n- wait: event\n\nAsk.\n\n## Tool one @worker\n\n2.', ends: 'completed' },
  timer: { body: '## One @worker\n\n1.\n\n## Nap\n\n- wait: 2s\n\n## Tool one @worker\n\n2.', ends: 'completed' },
  group: {
    body: '## Facts\n\n### Tool left @worker\n\nL.\n\n### Right @worker\n\nR.\n\n### Sign\n\n- approve: human\n\nOK?\n\n## Close @worker\n\nC.',
    ends: 'completed',
    decision: 'approve',
  },
  each: {
    body: '## Tool fan @worker\n\n- each: run.tags\n- as: tag\n\nFor {{tag}}.\n\n## Close @worker\n\nC.',
    ends: 'completed',
  },
  subflow: {
    body: '## Call\n\n- subflow: tools\n\n## Tool close @worker\n\nUse {{steps.call.result}}.',
    ends: 'completed',
  },
  retry: { body: '## Flaky @worker\n\n- retry: 2\n\nDo it.\n\n## Tool one @worker\n\n2.', ends: 'completed' },
  budget: { body: '## Tool one @worker\n\n1.\n\n## Two @worker\n\n2.', settings: 'budget: 5\n', ends: 'completed' },
  poor: { body: '## One @worker\n\n1.', settings: 'budget: 0.000001\n', ends: /budget/ },
  stop: {
    body: '## Tool one @worker\n\n1.\n\n## Tool two @worker\n\n2.\n\n## Tool three @worker\n\n3.\n\n## Four @worker\n\n4.',
    ends: /stopped by/,
    stopped: true,
  },
} as const satisfies Record<string, FlowKind>;

export type FlowName = keyof typeof FLOWS;
export const FLOW_NAMES = Object.keys(FLOWS) as [FlowName, ...FlowName[]];

export const kindOf = (name: FlowName): FlowKind => FLOWS[name];

export const FILES = [
  { path: 'AGENTS.md', content: '# Storm\n\nBe brief.\n' },
  { path: 'agents/worker.md', content: '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n' },
  ...FLOW_NAMES.map((name) => {
    const { body, settings = '' } = kindOf(name);
    return { path: `flows/${name}.md`, content: `---\ndescription: Of the storm.\n${settings}---\n\n${body}\n` };
  }),
];

/** An acting call whose effect can be counted: a line in a file of its own run and step. */
const APPEND = /^echo (\S+) >> (files\/[\w.-]+)$/;

/** The line that a shell command appends, and where; null for any other. */
export function effectOf(command: string): { readonly line: string; readonly path: string } | null {
  const [, line, path] = APPEND.exec(command) ?? [];
  return line === undefined || path === undefined ? null : { line, path };
}

/** The model's answer. It knows where it is asked from the call's idempotency key: run/step/item/round/attempt/turn. */
export function answerOf(call: FakeCall, delayMs: number): FakeAnswer {
  const [run = '', step = '', item = '', round = '', attempt = '', turn = ''] = (call.idempotencyKey ?? '').split('/');
  const usage = { input: 100, output: 20 };
  if (step === 'flaky' && attempt === '1') return { status: 400, body: '{"error":{"message":"flaky"}}', delayMs };
  if (!step.startsWith('tool') || turn !== '0') return { text: `${step} is done`, usage, delayMs };
  const append = (mark: string) => ({
    name: 'Bash',
    args: { command: `echo ${[item, round, attempt, mark].join('.')} >> files/${run}-${step}-${item}.txt` },
  });
  return { calls: [append('a'), append('b')], usage, delayMs };
}
