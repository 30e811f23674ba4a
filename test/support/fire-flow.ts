import { type FakeAnswer, type FakeCall, type FakeProvider, type Respond, startFakeProvider } from './fake-provider.js';
import { flow } from './flows.js';
import type { Tree } from './workspace-app.js';

/** Every kind of stop, and acting calls before and after each, in one flow under a budget. */
export const FIRE: Tree = {
  'AGENTS.md': '# Shop\n\nBe brief.\n',
  'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
  'flows/fire.md': flow(
    [
      '## Draft @worker\n\nDraft it.',
      '## Facts\n\n### Left @worker\n\nL.\n\n### Right @worker\n\nR.',
      '## Sign\n\n- approve: human\n\nOK?',
      '## Ask @worker\n\n- wait: event\n\nAsk at {{step.release_url}}.',
      '## Nap\n\n- wait: 1s',
      '## Call\n\n- subflow: inner',
      '## Close @worker\n\nUse {{steps.call.result}}.',
    ].join('\n\n'),
    'budget: 5\n',
  ),
  'flows/inner.md': flow('## Inner @worker\n\nDo the inner part.'),
  'flows/load.md': flow(
    [
      '## Draft @worker\n\nDraft it.',
      '## Facts\n\n### Left @worker\n\nL.\n\n### Right @worker\n\nR.',
      '## Call\n\n- subflow: inner',
      '## Close @worker\n\nUse {{steps.call.result}}.',
    ].join('\n\n'),
    'budget: 5\n',
  ),
  'flows/three.md': flow('## One @worker\n\n1.\n\n## Two @worker\n\n2.\n\n## Three @worker\n\n3.'),
  'flows/gate.md': flow('## First @worker\n\n1.\n\n## Sign\n\n- approve: human\n\nOK?\n\n## Last @worker\n\n3.'),
  'flows/slots.md': flow(
    '## One @worker\n\n1.\n\n## Nap\n\n- wait: 1s\n\n## Two @worker\n\n2.',
    'concurrency: { limit: 2 }\n',
  ),
  'flows/nap.md': flow('## Nap\n\n- wait: 1h'),
  'flows/hold.md': flow('## Hold @worker\n\nWait for it.\n\n## After @worker\n\nUse it.'),
};

export const HELD_SECONDS = 613;

/** What the model answers at each turn of a step; after the last one it says that it is done. */
const TURNS: Readonly<Record<string, readonly ((at: At) => FakeAnswer)[]>> = {
  draft: [
    (at) => ({ calls: [write(at), append(at, 'a')] }),
    (at) => ({ calls: [append(at, 'b'), { name: 'Glob', args: { pattern: '*' } }] }),
  ],
  left: [(at) => ({ calls: [append(at, 'a')], delayMs: 150 })],
  inner: [(at) => ({ calls: [append(at, 'a')] })],
  close: [(at) => ({ calls: [append(at, 'a')] })],
  hold: [() => ({ calls: [{ name: 'Bash', args: { command: `sleep ${HELD_SECONDS}`, timeout: 900 } }] })],
};

interface At {
  readonly run: string;
  readonly step: string;
  readonly turn: number;
}

const append = ({ run, step, turn }: At, mark: string) => ({
  name: 'Bash',
  args: { command: `echo ${step}.${turn}.${mark} >> files/${run}-${step}.txt` },
});

const write = ({ step }: At) => ({ name: 'Write', args: { path: `outputs/${step}.md`, content: 'A draft.' } });

/** The provider of the fire flows: it knows where it is asked from the call's idempotency key. */
export function startFireProvider(delayMs = 0): Promise<FakeProvider> {
  return startFakeProvider(fireAnswers(delayMs));
}

export function fireAnswers(delayMs: number): Respond {
  return (call) => ({ delayMs, ...answer(call), usage: { input: 100, output: 20 } });
}

function answer(call: FakeCall): FakeAnswer {
  const [run = '', step = '', , , , turn = '0'] = (call.idempotencyKey ?? '').split('/');
  const at = { run, step, turn: Number(turn) };
  return TURNS[step]?.[at.turn]?.(at) ?? { text: `${step} is done` };
}
