import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { atFileEnd } from '../support/file-end.js';
import { flow } from '../support/flows.js';
import { bodyOf, noModels } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
  atFileEnd(() => provider.close());
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  app = await createEngineApp({ models: { ...noModels, single } });
});

const TREE = {
  'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n',
  'flows/digest.md': flow('## Write @worker\n\nWrite the digest.\n\n## Check @worker\n\nLast time: [[state/digest]].'),
  'flows/other.md': flow('## Read @worker\n\nSee [[state/digest]] and [[state]].'),
};

const deploy = (workspace: string, files: Readonly<Record<string, string>>) =>
  app.post(`/api/workspaces/${workspace}/deploy`, {
    files: Object.entries(files).map(([path, content]) => ({ path, content })),
  });

test('how a flow’s last run ended is state/<flow>.md: linked, listed, read by tools, and left alone by deploys', async () => {
  let answers = ['first draft', 'The digest of Monday.'];
  provider.respond(() => ({ text: answers.shift() ?? 'done' }));
  const workspace = await app.workspace(TREE);
  const docs = async () => {
    const { docs: all } = await bodyOf(app.get(`/api/workspaces/${workspace}/vocabulary`));
    return all.map(({ path }: { path: string }) => path).filter((path: string) => path.startsWith('state'));
  };
  expect(await docs()).toEqual([]);
  const first = await app.ended(workspace, await app.start(workspace, 'digest'));
  expect(JSON.stringify(provider.calls.at(-1)?.body)).toContain('Document state/digest: there is none of this name');
  expect(await docs()).toEqual(['state', 'state/digest.md']);

  // A deploy that does not mention it, and a file of that path in a deploy, change nothing.
  expect((await deploy(workspace, { ...TREE, 'knowledge/new.md': 'new' })).status).toBe(200);
  const refused = await deploy(workspace, { ...TREE, 'state/digest.md': 'forged' });
  expect([refused.status, (await bodyOf(refused)).issues[0].code]).toEqual([422, 'tree/protected-path']);

  await app.ended(workspace, await app.start(workspace, 'other'));
  const prompt = JSON.stringify(provider.calls.at(-1)?.body);
  expect(prompt).toContain(`Document state/digest.md:\\nThe digest of Monday.`);
  expect(prompt).toMatch(/Document state\/:\\n- state\/digest\.md \(\d+ bytes\)/);

  answers = ['second', 'The digest of Tuesday.'];
  const second = await app.start(workspace, 'digest');
  await app.ended(workspace, second);
  expect(JSON.stringify(provider.calls.at(-1)?.body)).toContain('The digest of Monday.');

  provider.respond(({ body }) =>
    body.messages.some(({ role }: { role: string }) => role === 'tool')
      ? { text: 'read' }
      : {
          calls: [
            { name: 'Read', args: { path: 'state/digest.md' } },
            { name: 'Grep', args: { pattern: 'Tuesday' } },
          ],
        },
  );
  await app.ended(workspace, await app.start(workspace, 'other'));
  const results = JSON.stringify(
    provider.calls.at(-1)?.body.messages.filter(({ role }: { role: string }) => role === 'tool'),
  );
  expect(results).toContain(`run: ${second}`);
  expect(results).toContain('status: completed');
  expect(results).toContain('state/digest.md');

  // With its run, what it says is gone, and the run before it is the last one.
  expect((await app.delete(`/api/workspaces/${workspace}/runs/${second}`)).status).toBeLessThan(300);
  provider.respond(() => ({ text: 'done' }));
  await app.ended(workspace, await app.start(workspace, 'other'));
  expect(JSON.stringify(provider.calls.at(-1)?.body)).toContain('The digest of Monday.');
  expect(first.status).toBe('completed');
});

test('a run that failed says why; evals, agents alone and runs that never began are not a flow’s state', async () => {
  provider.respond(() => ({ status: 400, body: '{"error":{"message":"no such luck"}}' }));
  const workspace = await app.workspace(TREE);
  const failed = await app.ended(workspace, await app.start(workspace, 'digest'));
  expect(failed.status).toBe('failed');
  const states = await app.deps.db.query<{ path: string; content: string }>(
    'SELECT s.path, s.content FROM workspace w, flow_states(w.id) s WHERE w.name = $1',
    [workspace],
  );
  expect(states.map(({ path }) => path)).toEqual(['state/digest.md']);
  expect(states[0]?.content).toContain(`Error: ${failed.error}`);
});
