import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { noModels } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
let folder: string;
beforeAll(async () => {
  provider = await startFakeProvider();
  folder = await mkdtemp(join(tmpdir(), 'models-'));
  const file = join(folder, 'models.yaml');
  const model = (name: string, prices: string) =>
    `  ${name}: { provider: openai-compatible, baseUrl: "${provider.url}", model: ${name}${prices} }\n`;
  await writeFile(
    file,
    `models:\n${model('cheap', ', priceIn: 1, priceOut: 1')}${model('dear', ', priceIn: 1, priceOut: 100')}${model('unknown', '')}`,
  );
  app = await createEngineApp({ models: { ...noModels, file } });
});
afterAll(async () => {
  await provider.close();
  await rm(folder, { recursive: true });
});

async function runOn(models: string) {
  const workspace = await app.workspace({
    'AGENTS.md': `---\nmodels: { default: [${models}] }\n---\n\nBe brief.\n`,
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/f.md': flow('## One @worker\n\nGo.', 'budget: 0.5\n'),
  });
  return app.ended(workspace, await app.start(workspace, 'f'));
}

test('security 31: a call with a fallback sets aside for the dearest model that may answer it', async () => {
  provider.respond(() => ({ text: 'done', usage: { input: 10, output: 10 } }));
  const run = await runOn('cheap, dear');
  expect([run.error, run.status]).toEqual([null, 'completed']);
  const body = provider.calls.at(-1)?.body ?? {};
  expect(body.model).toBe('cheap');
  // $0.50 buys 5,000 tokens of the dear one.
  const most = Number(body.max_tokens ?? body.max_completion_tokens);
  expect(most).toBeGreaterThan(4_000);
  expect(most).toBeLessThan(5_000);
});

test('security 31: under a budget a fallback without a price fails the step with its name', async () => {
  const before = provider.calls.length;
  const run = await runOn('cheap, unknown');
  expect(run.status).toBe('failed');
  expect(run.error).toMatch(/model unknown has no known price, and the run has a budget/);
  expect(provider.calls).toHaveLength(before);
});
