import { createEngineApp, type EngineApp, type EngineOptions } from './create-engine-app.js';
import { type FakeAnswer, type FakeCall, type FakeProvider, startFakeProvider } from './fake-provider.js';
import { noModels } from './workspace-app.js';

/** An app whose one model, `fake`, is a provider that the test plays: USD 1 and 10 a million tokens. */
export async function createPlayedApp(
  answers?: Parameters<typeof startFakeProvider>[0],
  options: Omit<EngineOptions, 'models'> = {},
): Promise<{ readonly app: EngineApp; readonly provider: FakeProvider }> {
  const provider = await startFakeProvider(answers);
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  return { provider, app: await createEngineApp({ ...options, models: { ...noModels, single } }) };
}

/** Uses as many tokens as the call allows, 1,500 at most. */
export function usageOf({ body }: FakeCall): { input: number; output: number } {
  return { input: 300, output: Math.min(1_500, Number(body.max_tokens ?? body.max_completion_tokens ?? 1_500)) };
}

/** Answers after as many turns as the instruction says by `TURNS=`. A turn costs $0.0153 at most. */
export function answerInTurns(call: FakeCall): FakeAnswer {
  const turn = Number((call.idempotencyKey ?? '').split('/')[5] ?? 0);
  const usage = usageOf(call);
  if (turn >= Number(/TURNS=(\d+)/.exec(call.prompt)?.[1] ?? 1)) return { text: 'done', usage };
  return { calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }], usage };
}
