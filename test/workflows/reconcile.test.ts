import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RUN_TABLES } from '../../src/content/index.js';
import { reconcile, sweepOutbox } from '../../src/engine/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { createForgetfulTemporal } from '../support/forgetful-temporal.js';
import { testTemporal } from '../support/temporal.js';

let temporal: Awaited<ReturnType<typeof createForgetfulTemporal>>;
let app: EngineApp;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  temporal = await createForgetfulTemporal();
  // The worker is the forgetful one's, and so are the outbox and the reconciler: nothing happens that no test asks for.
  app = await createEngineApp({ worker: false, deps: { db: temporal.db, workflows: temporal.workflows } });
  const { address, namespace } = testTemporal();
  connection = await Connection.connect({ address });
  client = new Client({ connection, namespace });
});
afterAll(async () => {
  await connection.close();
  await temporal.close();
});

const GATED = '## One @worker\n\nGo.\n\n## Sign\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nGo on.';
const CALLS = '## Call\n\n- subflow: inner\n\n## After @worker\n\nUse it.';

async function started(body: string): Promise<{ workspace: string; id: string; at: string }> {
  const workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/g.md': flow(body),
    'flows/inner.md': flow(GATED),
  });
  const id = await app.start(workspace, 'g');
  return { workspace, id, at: `/api/workspaces/${workspace}/runs` };
}

/** Sweeps until nothing is left to tell. */
async function tellAll(): Promise<void> {
  const left = async () => {
    await sweepOutbox(app.deps);
    return app.deps.db.query('SELECT run_id, kind, last_error FROM outbox');
  };
  await expect.poll(left).toEqual([]);
}

test('a live run whose workflow was ended behind its back fails as lost, with its steps and parks closed', async () => {
  await temporal.work(app.deps);
  const { workspace, id, at } = await started(GATED);
  await app.until(workspace, id, (run) => run.waiting.length > 0);
  await client.workflow.getHandle(id).terminate('by the test');
  // The list of open workflows lags behind by a moment.
  await expect.poll(async () => (await reconcile(app.deps, { graceMs: 0 })).lost).toEqual([id]);
  const run = await app.run(workspace, id);
  expect([run.status, run.error, run.stopped]).toEqual(['failed', 'lost: its workflow has ended without it', false]);
  expect([run.steps[1]?.status, run.waiting]).toEqual(['failed', []]);
  expect((await app.post(`${at}/${id}/approve`, { decision: 'approve' })).status).toBe(409);
  expect((await reconcile(app.deps, { graceMs: 0 })).lost).toEqual([]);
});

/** As a restore of rows from before them does. */
async function deleteRows(ids: readonly string[]): Promise<void> {
  for (const table of RUN_TABLES) await app.deps.db.query(`DELETE FROM ${table} WHERE run_id = ANY($1)`, [ids]);
  await app.deps.db.query('DELETE FROM run WHERE id = ANY($1)', [ids]);
}

test('open workflows of runs and children whose rows are gone at two looks are terminated, and others are left alone', async () => {
  const [kept, gone] = [await started(GATED), await started(CALLS)];
  await app.until(kept.workspace, kept.id, (run) => run.waiting.length > 0);
  const outer = await app.until(gone.workspace, gone.id, (run) => run.waiting.length > 0);
  const child = outer.waiting[0]?.runId ?? '';
  await app.until(gone.workspace, child, (run) => run.status === 'awaiting-approval');
  const elsewhere = randomUUID();
  await client.workflow.start('runFlow', { workflowId: elsewhere, taskQueue: 'another-installation', args: [] });
  await deleteRows([gone.id, child]);

  const ids = [gone.id, child].sort();
  const look = (rowless: readonly string[]) => reconcile(app.deps, { graceMs: 0, rowless });
  // The list of open workflows lags behind by a moment.
  await expect.poll(async () => [...(await look([])).rowless].sort()).toEqual(ids);
  expect((await reconcile(app.deps, { rowless: ids })).terminated).toEqual([]);
  for (const id of ids) expect(await app.deps.workflows.describeRun(id)).toBe('running');

  const first = await app.deps.db.query<{ at: Date }>('SELECT min(applied_at) AS at FROM schema_version');
  await app.deps.db.query(`UPDATE schema_version SET applied_at = now() + interval '1 day'`);
  expect(await look(ids)).toMatchObject({ rowless: [], terminated: [] });
  await app.deps.db.query('UPDATE schema_version SET applied_at = $1', [first[0]?.at]);

  expect([...(await look(ids)).terminated].sort()).toEqual(ids);
  for (const id of ids) expect(await app.deps.workflows.describeRun(id)).toBe('closed');
  for (const id of [kept.id, elsewhere]) expect(await app.deps.workflows.describeRun(id)).toBe('running');
  await expect.poll(async () => (await look(ids)).rowless).toEqual([]);
  await client.workflow.getHandle(elsewhere).terminate('by the test');
  await app.post(`${kept.at}/${kept.id}/stop`);
});

test('the reconciler leaves alone what is well: parked runs and children at work', async () => {
  const { workspace, id, at } = await started(CALLS);
  const outer = await app.until(workspace, id, (run) => run.waiting.length > 0);
  await app.until(workspace, outer.waiting[0]?.runId ?? '', (run) => run.status === 'awaiting-approval');
  expect(await reconcile(app.deps, { graceMs: 0 })).toEqual({
    started: [],
    lost: [],
    cancelled: [],
    rowless: [],
    terminated: [],
  });
  await app.post(`${at}/${id}/stop`);
});

test('a run that Temporal has never heard of is started again from its rows, once its start is not waiting to be sent', async () => {
  const { workspace, id, at } = await started(GATED);
  // It was told at once; as if it had not been: a Temporal that is empty.
  await temporal.forget(app.deps);
  await app.deps.db.query(`INSERT INTO outbox (run_id, kind) VALUES ($1, 'start')`, [id]);
  expect((await reconcile(app.deps, { graceMs: 0 })).started).not.toContain(id);
  await app.deps.db.query('DELETE FROM outbox WHERE run_id = $1', [id]);
  expect((await reconcile(app.deps, { graceMs: 0 })).started).toContain(id);
  await tellAll();
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  expect((await reconcile(app.deps, { graceMs: 0 })).started).not.toContain(id);
  await app.post(`${at}/${id}/stop`);
});

test('runs, children and their parents that Temporal has forgotten go on from where they were parked, and repeat nothing', async () => {
  const [plain, parent] = [await started(GATED), await started(CALLS)];
  await app.until(plain.workspace, plain.id, (run) => run.waiting.length > 0);
  const outer = await app.until(parent.workspace, parent.id, (run) => run.waiting.length > 0);
  const child = outer.waiting[0]?.runId ?? '';
  await app.until(parent.workspace, child, (run) => run.status === 'awaiting-approval');
  await temporal.forget(app.deps);
  const found = await reconcile(app.deps, { graceMs: 0 });
  expect([...found.started].sort()).toEqual([plain.id, parent.id].sort());
  await tellAll();
  await expect.poll(() => app.deps.workflows.describeRun(child)).toBe('running');
  for (const at of [`${plain.at}/${plain.id}`, `${parent.at}/${child}`])
    expect((await app.post(`${at}/approve`, { decision: 'approve' })).status).toBe(200);
  for (const { workspace, id } of [plain, parent, { workspace: parent.workspace, id: child }]) {
    const run = await app.ended(workspace, id);
    expect([run.status, run.error]).toEqual(['completed', null]);
    const ends = run.steps.flatMap((step) => step.trace.filter((line) => line.kind === 'model.finished'));
    expect(ends).toHaveLength(run.steps.filter((step) => step.agent !== null).length);
  }
  const parks = await app.deps.db.query('SELECT id FROM park WHERE run_id = ANY($1)', [[plain.id, child]]);
  expect(parks).toHaveLength(2);
});
