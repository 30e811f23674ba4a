import { FIRST_ADVANCE_MS } from '../../../src/workflows/contract.js';
import { type FakeAnswer, type FakeCall, type FakeProvider, startFakeProvider } from '../fake-provider.js';

/** A model that acts once in `act`, hands work to two others in `hand`, is slow in `one` and slower in `long`, and counts on in `count` until its conversation was summed up. */
export async function startJobProvider(): Promise<FakeProvider> {
  const summedUp = new Set<string>();
  return startFakeProvider((call) => {
    const usage = { input: Math.ceil(call.prompt.length / 4), output: 20 };
    return { ...answer(call, summedUp), usage };
  });
}

const NOTE = { path: 'memory/worker/note.md', content: 'Noted.' };
const handOver = (task: string) => ({ name: 'run_agent', args: { agent: 'worker', task } });

function answer(call: FakeCall, summedUp: Set<string>): FakeAnswer {
  const parts = (call.idempotencyKey ?? '').split('/');
  if (parts[2] === 'judge') return { text: '{"verdicts":[{"n":1,"holds":true,"evidence":"It did."}]}' };
  const [run = '', step = '', , , , turn = '0'] = parts;
  const append = { name: 'Bash', args: { command: `echo ${step}.${turn} >> files/${run}-${step}.txt` } };
  if (step === 'one') return { text: 'one is done', delayMs: 1_200 };
  // Longer than a first advance is a local activity.
  if (step === 'long') return { text: 'long is done', delayMs: FIRST_ADVANCE_MS + 2_000 };
  if ((step === 'act' || step === 'worker') && turn === '0') return { calls: [append] };
  // A worker that another job's kill ends may cut this call: what was cut is written again, as a model would.
  if (step === 'note' && (turn === '0' || (turn === '1' && call.prompt.includes('may have partly run'))))
    return { calls: [{ name: 'Write', args: NOTE }] };
  if (step === 'hand' && turn === '0') return { calls: ['left', 'right'].map(handOver) };
  if (step !== 'count') return { text: `${step} is done` };
  if (parts.at(-1) === 'summary') {
    summedUp.add(run);
    return { text: `Noted before turn ${turn}.` };
  }
  if (summedUp.has(run) || turn === '60') return { text: 'counted' };
  const command = `${append.args.command}; seq ${turn}000 ${turn}250`;
  return { text: 'A note of mine. '.repeat(80), calls: [{ name: 'Bash', args: { command } }] };
}
