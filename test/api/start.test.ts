import { expect, test } from 'vitest';
import { runRoutes } from '../../src/api/routes/runs.js';
import { workspaceRoutes } from '../../src/api/routes/workspaces.js';
import { createKey } from '../support/create-test-app.js';
import { createWorkspaceApp } from '../support/workspace-app.js';

test('what is to be started is looked for first: a missing flow or agent is 404 before a role is asked or a body is judged', async () => {
  const app = await createWorkspaceApp({ routes: [...workspaceRoutes, ...runRoutes] });
  const { name } = await app.workspace();
  const viewer = await createKey(app.deps, { ...app, role: 'viewer' });
  const status = async (path: string, body: unknown, as?: string) =>
    (await app.post(`/api/workspaces/${name}/${path}/run`, body, as === undefined ? {} : { as })).status;
  for (const missing of ['flows/none', 'agents/none', 'agents/a%00b', 'flows/..%2Fagents%2Fwriter']) {
    expect([missing, await status(missing, { task: 't' }, viewer)]).toEqual([missing, 404]);
    expect([missing, await status(missing, { task: 7, unknown: true })]).toEqual([missing, 404]);
  }
  expect(await status('flows/hello', { task: 't' }, viewer)).toBe(403);
  expect(await status('agents/writer', {}, viewer)).toBe(403);
  expect(await status('agents/writer', {})).toBe(422);
  expect(await status('flows/hello', { unknown: true })).toBe(422);
});
