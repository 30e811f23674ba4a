import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { type RunRow, runsOf } from '../support/hooks.js';
import { bodyOf, fileList, type Tree } from '../support/workspace-app.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const STEP = '## Do @worker\n\nDo it.';
/** A flow that an event starts, with further lines of frontmatter. */
const on = (event: string, ...more: string[]) =>
  flow(STEP, ['trigger: event', `event: ${event}`, ...more, ''].join('\n'));
const SCRIPT = '- { text: "done" }\n';

const runs = async (workspace: string): Promise<readonly (RunRow & { flow: string; status: string })[]> => {
  const rows = await runsOf(app, workspace);
  return Promise.all(rows.map(async (row) => ({ ...(await app.run(workspace, row.id)), ...row })));
};
/** Waits until every event was taken and every run has ended. */
const settled = (workspace: string) =>
  expect
    .poll(async () => {
      const [row] = await app.deps.db.query<{ open: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM raised_event e WHERE e.workspace_id = w.id)
              OR EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = w.id AND r.finished_at IS NULL) AS open
            FROM workspace w WHERE w.name = $1`,
        [workspace],
      );
      return row?.open;
    })
    .toBe(false);
const flows = async (workspace: string) => (await runs(workspace)).map((run) => run.flow).sort();
const workspaceOf = (files: Tree) => app.workspace({ ...scripted(SCRIPT), ...files });

test('a run that completed starts who listens, once each, with what it says as the input', async () => {
  const workspace = await workspaceOf({
    'flows/first.md': flow(STEP),
    'flows/done.md': on('run.completed'),
    'flows/failed.md': on('run.failed'),
    'flows/picky.md': on('run.completed', 'filter: \'input.flow == "other"\''),
    'flows/off.md': on('run.completed', 'enabled: false'),
    'flows/strict.md': on('run.completed', 'input:\n  nothing: integer'),
  });
  const id = await app.start(workspace, 'first');
  await settled(workspace);
  const [first, done, ...more] = await runs(workspace);
  expect([first?.id, done?.flow, more]).toEqual([id, 'done', []]);
  expect(done?.input).toEqual({
    event: 'run.completed',
    runId: id,
    flow: 'first',
    status: 'completed',
    summary: 'done',
    error: null,
    tags: [],
  });
  expect(done?.trigger).toMatchObject({ kind: 'event', event: 'run.completed', chain: ['done'] });
  const { deliveries } = await bodyOf(app.get(`/api/workspaces/${workspace}/hooks/strict/deliveries`));
  const refused = { kind: 'event', outcome: 'refused', detail: expect.stringMatching(/^input: /) };
  // Of the first run, and of the one that it started.
  expect(deliveries).toMatchObject([refused, refused]);
});

test('a run that events started raises none that starts its own flow, and flows that take turns end', async () => {
  const workspace = await workspaceOf({
    'flows/first.md': flow(STEP),
    'flows/a.md': on('run.completed'),
    'flows/b.md': on('run.completed'),
  });
  await app.start(workspace, 'first');
  await settled(workspace);
  // The first run starts both, each of them the other, and nobody anybody more.
  expect(await flows(workspace)).toEqual(['a', 'a', 'b', 'b', 'first']);
});

test('a run that failed raises run.failed, and one that a person stopped raises nothing', async () => {
  const workspace = await workspaceOf({
    'flows/bad.md': flow('## Bad\n\n- wait: event\n- timeout: 1s\n\nWait.'),
    'flows/slow.md': flow('## Slow\n\n- wait: event\n\nWait.'),
    'flows/alarm.md': on('run.failed'),
  });
  const slow = await app.start(workspace, 'slow');
  await app.until(workspace, slow, (run) => run.waiting.length > 0);
  await app.post(`/api/workspaces/${workspace}/runs/${slow}/stop`);
  const bad = await app.start(workspace, 'bad');
  await app.ended(workspace, bad);
  await settled(workspace);
  const alarms = (await runs(workspace)).filter((run) => run.flow === 'alarm');
  expect(alarms.map(({ input }) => (input as { runId: string }).runId)).toEqual([bad]);
});

test('a deploy and a file that an agent saves start who listens, and nothing is kept where nobody does', async () => {
  const script =
    '- { when: { turn: 1 }, calls: [{ tool: save_to_storage, args: { path: storage/a.txt, content: hi } }] }\n- { text: done }\n';
  const base = scripted(script, {}, 'tools: [save_to_storage]\n');
  const files = { ...base, 'flows/first.md': flow(STEP) };
  const workspace = await app.workspace(files);
  const deploy = async (more: Tree) => {
    const body = { files: fileList({ ...files, ...more }), force: true };
    const response = await app.post(`/api/workspaces/${workspace}/deploy`, body);
    if (response.status !== 200) throw new Error(await response.text());
  };
  await deploy({ 'flows/second.md': flow(STEP) });
  const quiet = flow('## Wait\n\n- wait: 1s\n\nWait.', 'trigger: event\nevent: [deploy.applied, storage.written]\n');
  await deploy({ 'flows/heard.md': quiet });
  await settled(workspace);
  await app.ended(workspace, await app.start(workspace, 'first'));
  await settled(workspace);
  const heard = (await runs(workspace)).filter((run) => run.flow === 'heard');
  expect(heard.map(({ input }) => input)).toMatchObject([
    { event: 'deploy.applied', via: 'deploy', added: ['flows/heard.md'] },
    { event: 'storage.written', path: 'storage/a.txt', size: 2, flow: 'first' },
  ]);
});

test('an event that nothing can be made of keeps no other from its flow, and is not lost', async () => {
  const files = { 'flows/first.md': flow(STEP), 'flows/done.md': on('run.completed') };
  const [broken, whole] = [await workspaceOf(files), await workspaceOf(files)];
  await app.deps.db.query(
    `UPDATE plan SET body = body || '{"trigger": null}' WHERE body->>'flow' = 'done'
      AND workspace_id = (SELECT id FROM workspace WHERE name = $1)`,
    [broken],
  );
  await app.start(broken, 'first');
  await expect.poll(() => raised(broken)).toBe(1);
  await app.start(whole, 'first');
  await settled(whole);
  expect(await flows(whole)).toEqual(['done', 'first']);
  expect(await flows(broken)).toEqual(['first']);
  expect(await raised(broken)).toBe(1);
});

async function raised(workspace: string): Promise<number> {
  const rows = await app.deps.db.query(
    'SELECT 1 FROM raised_event WHERE workspace_id = (SELECT id FROM workspace WHERE name = $1)',
    [workspace],
  );
  return rows.length;
}
