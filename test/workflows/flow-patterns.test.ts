import { beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { bodyOf } from '../support/workspace-app.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const DEMO = { 'AGENTS.md': '---\nmodels: { default: scripted/demo }\n---\n' };
const PATTERNS = ['blank', 'chain', 'parallel', 'route', 'review', 'loop'];

test.each(PATTERNS)('a new flow of the pattern %s deploys and runs as it is', async (pattern) => {
  const workspace = await app.workspace(DEMO);
  const response = await app.post(`/api/workspaces/${workspace}/flows`, { name: 'new-one', pattern });
  const made = await bodyOf(response);
  expect([response.status, made.trigger, made.agents]).toEqual([201, ['manual'], ['assistant']]);
  expect(made.issues).toEqual([]);
  const id = await app.start(workspace, 'new-one', { task: 'Write about kettles' });
  if (pattern === 'review') {
    await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
    await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'reject', note: 'shorter' });
    const isBack = (run: RunView) => run.waiting.length === 1 && run.steps[1]?.rounds.length === 1;
    const { gate } = await app.until(workspace, id, isBack);
    await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'approve', ...gate });
  }
  const run = await app.ended(workspace, id);
  expect([run.error, run.status]).toEqual([null, 'completed']);
  expect(run.summary).toEqual(expect.stringMatching(/./));
});
