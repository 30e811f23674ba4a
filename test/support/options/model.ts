import { type FakeAnswer, type FakeCall, startFakeProvider } from '../fake-provider.js';
import { CASES } from './index.js';
import type { At, NamedCase } from './row.js';

/** What stands in the prompt of a case's agents, so that the provider knows which case asks. */
export const markOf = (name: string): string => `You belong to the case <${name}>.`;

export function readAt(call: FakeCall): At {
  const [run = '', step = '', item, round, attempt, turn] = (call.idempotencyKey ?? '').split('/');
  return { run, step, item: Number(item), round: Number(round), attempt: Number(attempt), turn: Number(turn) };
}

/**
 * The provider of all cases. While it holds, the first call of each run that stands where its worker is to be killed
 * gets no answer; `held` names the cases of which one came.
 */
export async function startOptionModel() {
  const marks = CASES.map((entry) => ({ entry, mark: markOf(entry.name) }));
  const held = new Set<string>();
  const heldRuns = new Set<string>();
  let holding = false;
  const caseOf = (call: FakeCall) => marks.find(({ mark }) => call.prompt.includes(mark))?.entry;
  const provider = await startFakeProvider((call) => {
    const entry = caseOf(call);
    if (!entry) throw new Error(`no case asks ${call.prompt.slice(0, 300)}`);
    const at = readAt(call);
    if (holding && standsIn(entry, at) && !heldRuns.has(at.run)) {
      heldRuns.add(at.run);
      held.add(entry.name);
      return new Promise<FakeAnswer>(() => undefined);
    }
    const answer = entry.option.model?.(at) ?? { text: `${at.step} is done` };
    const { input, output } = answer.usage ?? { input: 100, output: 20 };
    // As a provider does, it ends an answer at the length that was asked for.
    return { ...answer, usage: { input, output: Math.min(output, Number(call.body.max_tokens ?? output)) } };
  });
  return {
    ...provider,
    held: held as ReadonlySet<string>,
    hold(on: boolean) {
      holding = on;
    },
  };
}

export type OptionModel = Awaited<ReturnType<typeof startOptionModel>>;

function standsIn({ option: { killedIn } }: NamedCase, at: At): boolean {
  if (killedIn === 'wait') return false;
  return Object.entries(killedIn).every(([key, value]) => at[key as keyof At] === value);
}
