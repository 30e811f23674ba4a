import { beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { sweepSlots } from '../../src/engine/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { mostAtWork } from '../support/slots.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const SLOW = '- { text: done, delayMs: 300 }\n- { text: done }\n- { text: done }\n- { text: done }\n';
const post = (workspace: string, path: string, body: object = {}) =>
  app.post(`/api/workspaces/${workspace}/${path}`, body);
const approve = (workspace: string, id: string) => post(workspace, `runs/${id}/approve`, { decision: 'approve' });
const waitsForSlot = (run: RunView) => run.waiting.some((one) => one.kind === 'slot');
const slots = () => app.deps.db.query('SELECT 1 FROM slot UNION ALL SELECT 1 FROM slot_lane');

/** As many steps as a run takes to hold its slot for a while: it ends when the test says so. */
const HELD = flow('## Hold @worker\n\n- wait: event\n\nGo.', 'concurrency: { limit: 1 }\n');

test('sixty runs started at once with a limit of three: never more than three at work, and all complete', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 20 }\n'),
    'flows/load.md': flow('## One @worker\n\nGo.\n\n## Two @worker\n\nGo on.', 'concurrency: { limit: 3 }\n'),
  });
  const ids = await Promise.all(Array.from({ length: 60 }, () => app.start(workspace, 'load')));
  const ended = () => app.deps.db.query('SELECT 1 FROM run WHERE id = ANY($1) AND status = $2', [ids, 'completed']);
  await expect.poll(async () => (await ended()).length, { interval: 200 }).toBe(60);
  expect(await mostAtWork(app.deps.db, 'load')).toBe(3);
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('a run over the limit is queued without a workflow, says why, and starts when a slot is free', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 1500 }\n'),
    'flows/one.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 1 }\n'),
  });
  const first = await app.start(workspace, 'one');
  const [second, third] = [await app.start(workspace, 'one'), await app.start(workspace, 'one')];
  const queued = await app.run(workspace, third);
  expect(queued.status).toBe('queued');
  expect(queued.waiting).toMatchObject([
    {
      step: 1,
      id: 'one',
      kind: 'slot',
      due: null,
      reason: '1 of 1 runs of one are at work (concurrency), and 1 is before it',
    },
  ]);
  expect(await app.deps.workflows.describeRun(third)).toBe('missing');
  const list = (await (await app.get(`/api/workspaces/${workspace}/runs`)).json()) as { runs: RunView[] };
  expect(list.runs.map((run) => [run.id, run.waitsForSlot])).toEqual([
    [third, true],
    [second, true],
    [first, false],
  ]);
  const ended = await app.ended(workspace, third);
  expect(ended.status).toBe('completed');
  const order = await Promise.all([first, second, third].map((id) => app.run(workspace, id)));
  expect([...order].sort((a, b) => ((a.startedAt ?? '') < (b.startedAt ?? '') ? -1 : 1)).map((run) => run.id)).toEqual([
    first,
    second,
    third,
  ]);
  expect(await mostAtWork(app.deps.db, 'one', workspace)).toBe(1);
});

test('a parked run holds no slot, and takes one again before it goes on', async () => {
  const workspace = await app.workspace({
    ...scripted(SLOW),
    'flows/one.md': flow(
      '## One @worker\n\nGo.\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nGo.',
      'concurrency: { limit: 1 }\n',
    ),
  });
  const first = await app.start(workspace, 'one');
  const second = await app.start(workspace, 'one');
  for (const id of [first, second]) await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await Promise.all([approve(workspace, first), approve(workspace, second)]);
  for (const id of [first, second]) expect((await app.ended(workspace, id)).status).toBe('completed');
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('a woken run that finds no slot waits for one, and goes on when it is free', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 1200 }\n- { text: done }\n'),
    'flows/one.md': flow('## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nGo.', 'concurrency: { limit: 1 }\n'),
  });
  const first = await app.start(workspace, 'one');
  await app.until(workspace, first, (run) => run.status === 'awaiting-approval');
  const second = await app.start(workspace, 'one');
  await app.until(workspace, second, (run) => run.status === 'awaiting-approval');
  await approve(workspace, first);
  await app.until(workspace, first, (run) => run.steps[1]?.status === 'running');
  await approve(workspace, second);
  const waiting = await app.until(workspace, second, waitsForSlot);
  expect([waiting.status, waiting.waiting[0]?.step]).toEqual(['running', 1]);
  expect((await app.ended(workspace, second)).status).toBe('completed');
  expect((await app.run(workspace, first)).status).toBe('completed');
});

test('runs count together by the key that their input gives', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 1500 }\n'),
    'flows/by.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 1, key: "input" }\n'),
  });
  const ids = [];
  for (const task of ['a', 'b', 'a']) ids.push(await app.start(workspace, 'by', { task }));
  const [a, b, again] = await Promise.all(ids.map((id) => app.run(workspace, id)));
  expect([a, b, again].map((run) => run && waitsForSlot(run))).toEqual([false, false, true]);
  for (const id of ids) expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a key that gives no text is refused with a sentence, and there is no run', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/by.md': flow(
      '## One @worker\n\nGo.',
      'input: { shop?: string, n: integer }\nconcurrency: { limit: 1, key: "has(input.shop) ? input.shop : input.n" }\n',
    ),
  });
  const response = await post(workspace, 'flows/by/run', { task: { n: 5 } });
  expect([response.status, await response.text()]).toEqual([
    422,
    expect.stringContaining('is 5, and has to be a text'),
  ]);
  expect(((await (await app.get(`/api/workspaces/${workspace}/runs`)).json()) as { runs: [] }).runs).toEqual([]);
});

test('on_limit: skip makes no run over the limit and answers so', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 1000 }\n'),
    'flows/s.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 1, on_limit: skip }\n'),
  });
  const first = await app.start(workspace, 's');
  const over = await post(workspace, 'flows/s/run');
  expect([over.status, await over.json()]).toEqual([200, { ok: true, skipped: true }]);
  await app.ended(workspace, first);
  await expect.poll(async () => (await post(workspace, 'flows/s/run')).status).toBe(202);
  expect(((await (await app.get(`/api/workspaces/${workspace}/runs`)).json()) as { runs: [] }).runs).toHaveLength(2);
});

test('on_limit: cancel stops the oldest that is at work and takes its place', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 3000 }\n'),
    'flows/c.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 2, on_limit: cancel }\n'),
  });
  const [first, second, third] = [
    await app.start(workspace, 'c'),
    await app.start(workspace, 'c'),
    await app.start(workspace, 'c'),
  ];
  const stopped = await app.run(workspace, first);
  expect([stopped.status, stopped.stopped]).toEqual(['failed', true]);
  expect(stopped.error).toContain(`stopped by run ${third}, which took its place`);
  for (const id of [second, third]) expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a queued run that is stopped never starts, and its place goes', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 1500 }\n'),
    'flows/one.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 1 }\n'),
  });
  const first = await app.start(workspace, 'one');
  const second = await app.start(workspace, 'one');
  const third = await app.start(workspace, 'one');
  expect(await (await post(workspace, `runs/${second}/stop`)).json()).toEqual({ ok: true, stopped: true });
  expect((await app.run(workspace, third)).waiting[0]?.reason).toContain('it is next');
  for (const id of [first, third]) expect((await app.ended(workspace, id)).status).toBe('completed');
  const run = await app.run(workspace, second);
  expect([run.status, run.stopped, run.startedAt]).toEqual(['failed', true, null]);
  expect(await app.deps.workflows.describeRun(second)).toBe('missing');
});

test('a stopped run gives its slot to the next', async () => {
  const workspace = await app.workspace({
    // Longer than this test may take: the slot is free because of the stop.
    ...scripted('- { text: done, delayMs: 600000 }\n'),
    'flows/one.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 1 }\n'),
  });
  const first = await app.start(workspace, 'one');
  await app.until(
    workspace,
    first,
    (run) => run.steps[0]?.trace.some((line) => line.kind === 'model.started') ?? false,
  );
  const second = await app.start(workspace, 'one');
  await post(workspace, `runs/${first}/stop`);
  await app.until(workspace, second, (run) => run.status === 'running');
  await post(workspace, `runs/${second}/stop`);
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('a child flow waits in line for its own slot, and its parent with it', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 800 }\n'),
    'flows/outer.md': flow('## Call\n\n- subflow: inner', 'concurrency: { limit: 2 }\n'),
    'flows/inner.md': flow('## One @worker\n\nGo.', 'concurrency: { limit: 1 }\n'),
  });
  const ids = await Promise.all(Array.from({ length: 4 }, () => app.start(workspace, 'outer')));
  for (const id of ids) expect((await app.ended(workspace, id)).status).toBe('completed');
  expect(await mostAtWork(app.deps.db, 'inner', workspace)).toBe(1);
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('a child that is parked frees the slot of the run above it, which is taken again before the child goes on', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 1500 }\n'),
    'flows/outer.md': flow('## Call\n\n- subflow: inner\n\n## After @worker\n\nGo.', 'concurrency: { limit: 1 }\n'),
    'flows/inner.md': flow('## Gate\n\n- approve: human\n\nOK?\n\n## Inside @worker\n\nGo.'),
  });
  const childOf = async (id: string) =>
    (await app.until(workspace, id, (run) => run.waiting.some((one) => one.kind === 'subflow'))).waiting[0]?.runId ??
    '';
  const first = await app.start(workspace, 'outer');
  const child = await childOf(first);
  await app.until(workspace, child, (run) => run.status === 'awaiting-approval');
  const second = await app.start(workspace, 'outer');
  const other = await childOf(second);
  await app.until(workspace, other, (run) => run.status === 'awaiting-approval');
  await approve(workspace, child);
  await app.until(workspace, child, (run) => run.steps[1]?.status === 'running');
  await approve(workspace, other);
  await app.until(workspace, other, waitsForSlot);
  for (const id of [first, second]) expect((await app.ended(workspace, id)).status).toBe('completed');
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('a slot is held while one branch works, and freed when the last of them is parked', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 700 }\n'),
    'flows/g.md': flow(
      '## Both\n\n### Work @worker\n\nGo.\n\n- x\n\n### Gate\n\n- approve: human\n\nOK?\n\n## Calls\n\n- each: [1, 2, 3]\n- as: n\n- parallel: 1\n- subflow: asks',
      'concurrency: { limit: 1 }\n',
    ),
    'flows/asks.md': flow('## Ask\n\n- approve: human\n\nOK?'),
  });
  const first = await app.start(workspace, 'g');
  await app.until(workspace, first, (run) => run.status === 'awaiting-approval');
  const second = await app.start(workspace, 'g');
  expect(waitsForSlot(await app.run(workspace, second))).toBe(true);
  await app.until(workspace, second, (run) => run.startedAt !== null);
  expect((await app.run(workspace, first)).steps[0]?.status).toBe('completed');
  const gates = () =>
    app.deps.db.query<{ id: string }>(
      `SELECT p.run_id AS id FROM park p JOIN run r ON r.id = p.run_id WHERE r.root_id = ANY($1) AND p.decided_at IS NULL`,
      [[first, second]],
    );
  const holders = () => app.deps.db.query('SELECT 1 FROM slot WHERE held');
  // Two gates of their own, then an item at a time of each run: between them nobody works, and nobody holds a slot.
  for (let round = 0; round < 4; round += 1) {
    await expect.poll(async () => (await gates()).length).toBe(2);
    await expect.poll(async () => (await holders()).length).toBe(0);
    await Promise.all((await gates()).map(({ id }) => approve(workspace, id)));
    await expect.poll(async () => (await gates()).length).toBe(round === 3 ? 0 : 2);
  }
  for (const id of [first, second]) expect((await app.ended(workspace, id)).status).toBe('completed');
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('a run that waits for its slot past its timeout fails with that, and holds nothing', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done, delayMs: 30000 }\n'),
    'flows/one.md': flow(
      '## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nGo.',
      'timeout: 8s\nconcurrency: { limit: 1 }\n',
    ),
  });
  const first = await app.start(workspace, 'one');
  const second = await app.start(workspace, 'one');
  for (const id of [first, second]) await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await approve(workspace, first);
  await app.until(workspace, first, (run) => run.steps[1]?.status === 'running');
  await approve(workspace, second);
  expect((await app.ended(workspace, second)).error).toBe('the run took longer than its timeout');
  await app.ended(workspace, first);
  await expect.poll(async () => (await slots()).length).toBe(0);
});

test('the sweep takes nothing from a run at work, and frees a slot whose run ended without it', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: done, delayMs: 1000 }\n'), 'flows/one.md': HELD });
  const first = await app.start(workspace, 'one');
  await app.until(
    workspace,
    first,
    (run) => run.steps[0]?.trace.some((line) => line.kind === 'model.started') ?? false,
  );
  await sweepSlots(app.deps);
  const second = await app.start(workspace, 'one');
  expect(waitsForSlot(await app.run(workspace, second))).toBe(true);
  await app.deps.db.query(`UPDATE run SET status = 'failed', finished_at = now() WHERE id = $1`, [first]);
  await app.until(workspace, second, (run) => run.startedAt !== null);
  await post(workspace, `runs/${second}/stop`);
});

test('runs without concurrency have no rows of it', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/p.md': flow('## One @worker\n\nGo.'),
  });
  const id = await app.start(workspace, 'p');
  await app.ended(workspace, id);
  const [row] = await app.deps.db.query<{ slots: string[] | null }>('SELECT slots FROM run WHERE id = $1', [id]);
  expect(row?.slots).toBeNull();
});
