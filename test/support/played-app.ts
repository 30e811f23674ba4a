import { createEngineApp, type EngineApp } from './create-engine-app.js';
import { type FakeProvider, startFakeProvider } from './fake-provider.js';
import { noModels } from './workspace-app.js';

/** An app whose one model, `fake`, is a provider that the test plays: USD 1 and 10 a million tokens. */
export async function createPlayedApp(
  answers?: Parameters<typeof startFakeProvider>[0],
): Promise<{ readonly app: EngineApp; readonly provider: FakeProvider }> {
  const provider = await startFakeProvider(answers);
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  return { provider, app: await createEngineApp({ models: { ...noModels, single } }) };
}
