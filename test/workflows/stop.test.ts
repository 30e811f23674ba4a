import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const stop = async (workspace: string, id: string) =>
  (await (await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`)).json()) as { stopped: boolean };

test('security 3: a stop ends the run at once, and a late answer of the model changes nothing', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: "late words", delayMs: 5000 }\n'),
    'flows/s.md': flow('## One @worker\n\nGo.'),
  });
  const id = await app.start(workspace, 's');
  await app.until(workspace, id, (run) => run.steps[0]?.trace.some((line) => line.kind === 'model.started') ?? false);
  expect(await stop(workspace, id)).toEqual({ ok: true, stopped: true });
  const run = await app.run(workspace, id);
  expect([run.status, run.stopped, run.error]).toEqual(['failed', true, 'stopped by admin']);
  expect(run.steps[0]?.status).toBe('failed');
  await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
  expect((await app.run(workspace, id)).lastSeq).toBe(run.lastSeq);
});

test('security 3: the programs of a stopped run are dead within five seconds', async () => {
  const workspace = await app.workspace({
    ...scripted('- { calls: [{ tool: Bash, args: { command: "sleep 600 & sleep 600" } }] }\n- { text: never }\n'),
    'flows/s.md': flow('## One @worker\n\nGo.'),
  });
  const id = await app.start(workspace, 's');
  const rows = () => app.deps.db.query<{ pid: number }>('SELECT pid FROM sandbox_process WHERE run_id = $1', [id]);
  await expect.poll(async () => (await rows()).length).toBe(1);
  const [row] = await rows();
  await stop(workspace, id);
  await expect.poll(() => isAlive(row?.pid ?? 0)).toBe(false);
  await expect.poll(async () => (await rows()).length).toBe(0);
});

test('a stop ends parked runs, their child runs and their gates', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/outer.md': flow('## Call\n\n- subflow: inner'),
    'flows/inner.md': flow('## Gate\n\n- approve: human\n\nOK?'),
  });
  const id = await app.start(workspace, 'outer');
  const outer = await app.until(workspace, id, (run) => run.waiting.length > 0);
  const child = outer.waiting[0]?.runId ?? '';
  await app.until(workspace, child, (run) => run.status === 'awaiting-approval');
  await stop(workspace, id);
  const inner = await app.run(workspace, child);
  expect([inner.status, inner.stopped, inner.waiting]).toEqual(['failed', true, []]);
  await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
  await expect.poll(() => app.deps.workflows.describeRun(child)).toBe('closed');
});

test('a stopped run keeps what its steps made: their files, and the first line as its summary', async () => {
  const workspace = await app.workspace({
    ...scripted('- { calls: [{ tool: Write, args: { path: outputs/a.md, content: x } }] }\n- { error: refused }\n'),
    'agents/other/agent.md': '---\nname: other\ndescription: Other.\n---\n\nYou work.\n',
    'agents/other/script.yaml': '- { text: "made this\\nand more" }\n',
    'flows/g.md': flow(
      '## One @other\n\nGo.\n\n## Two @worker\n\n- on_fail: continue\n\nGo.\n\n## Gate\n\n- approve: human\n\nOK?',
    ),
  });
  const id = await app.start(workspace, 'g');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await stop(workspace, id);
  const run = await app.run(workspace, id);
  expect([run.stopped, run.summary]).toEqual([true, 'made this']);
  expect(run.steps[1]).toMatchObject({ status: 'failed', files: [{ agent: 'worker', path: 'outputs/a.md' }] });
});

test('stopping an ended run is fine and changes nothing; deleting a live one is refused', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/s.md': flow('## One @worker\n\nGo.'),
    'flows/g.md': flow('## Gate\n\n- approve: human\n\nOK?'),
  });
  const id = await app.start(workspace, 's');
  const run = await app.ended(workspace, id);
  expect(await stop(workspace, id)).toEqual({ ok: true, stopped: false });
  expect(await app.run(workspace, id)).toEqual(run);
  const live = await app.start(workspace, 'g');
  expect((await app.delete(`/api/workspaces/${workspace}/runs/${live}`)).status).toBe(409);
  await stop(workspace, live);
  expect((await app.delete(`/api/workspaces/${workspace}/runs/${live}`)).status).toBe(200);
  expect((await app.get(`/api/workspaces/${workspace}/runs/${live}`)).status).toBe(404);
});

test('60 stops that race the end of a run leave exactly one end each', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: quick, delayMs: 100 }\n'),
    'flows/s.md': flow('## One @worker\n\nGo.'),
  });
  const ids = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const id = await app.start(workspace, 's');
      await new Promise((resolve) => setTimeout(resolve, n * 15));
      await stop(workspace, id);
      return id;
    }),
  );
  for (const id of ids) await app.ended(workspace, id);
  const ends = await app.deps.db.query<{ ends: number; gap: boolean }>(
    `SELECT count(*) FILTER (WHERE type IN ('run.completed', 'run.failed', 'run.stopped'))::int AS ends,
      count(*) <> max(r.last_seq) AS gap FROM run_event e JOIN run r ON r.id = e.run_id WHERE r.id = ANY($1) GROUP BY r.id`,
    [ids],
  );
  expect(ends).toHaveLength(60);
  expect(ends.filter((row) => row.ends !== 1 || row.gap)).toEqual([]);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
