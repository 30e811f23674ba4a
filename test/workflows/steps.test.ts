import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const AGENTS = '---\nmodels: { default: scripted/demo }\n---\n\nBe brief.\n';
const agent = (script: string) => ({
  'AGENTS.md': AGENTS,
  'agents/worker/agent.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
  'agents/worker/script.yaml': script,
});

test('steps run one after the other, each with its output, cost, tokens and timing', async () => {
  const workspace = await app.workspace({
    ...agent('- text: "first"\n  when: { step: one }\n- text: "second after {{input}}"\n  when: { step: two }\n'),
    'flows/two.md': '---\ndescription: Two.\n---\n\n## One @worker\n\nDo one.\n\n## Two @worker\n\nDo two with {{steps.one.result}}.\n',
  });
  const run = await app.ended(workspace, await app.start(workspace, 'two', { task: 'go' }));
  expect(run.error).toBe(null);
  expect(run.status).toBe('completed');
  expect(run.steps.map((step) => [step.n, step.id, step.status, step.result])).toEqual([
    [1, 'one', 'completed', 'first'],
    [2, 'two', 'completed', expect.stringContaining('second after')],
  ]);
  expect(run.steps[0]?.tokens.output).toBeGreaterThan(0);
  expect(run.steps[0]?.durationMs).toBeGreaterThanOrEqual(0);
  expect(run.summary).toContain('second');
});
