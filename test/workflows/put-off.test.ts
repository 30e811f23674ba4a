import { afterAll, beforeAll, expect, test } from 'vitest';
import { advanceLane } from '../../src/engine/index.js';
import { attemptOf } from '../support/attempt.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { noModels } from '../support/workspace-app.js';

let app: EngineApp;
let idle: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  const models = { ...noModels, single };
  app = await createEngineApp({ models });
  idle = await createEngineApp({ models, worker: false });
});
afterAll(() => provider.close());

const WORKER = { 'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n' };
const ONE = 'concurrency: { limit: 1 }\n';
const retry = (wait: string) => flow(`## One @worker\n\n- retry: { max: 2, wait: ${wait} }\n\nGo.`, ONE);

/** The first attempt of the first run fails. */
function failOnce(): void {
  let first = true;
  provider.respond(() => {
    if (!first) return { text: 'done' };
    first = false;
    return { status: 400, body: 'no' };
  });
}

const putOff = (workspace: string, id: string) =>
  app.until(workspace, id, (run) => run.steps[0]?.trace.some(({ kind }) => kind === 'step.retrying') ?? false);

test('security 8: a run that is put off for long holds no slot, and takes one again before it goes on', async () => {
  failOnce();
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': retry('11s') });
  const first = await app.start(workspace, 'f');
  await putOff(workspace, first);
  const second = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(second.status).toBe('completed');
  expect((await app.run(workspace, first)).status).toBe('running');
  const run = await app.ended(workspace, first);
  expect(run).toMatchObject({ status: 'completed', steps: [{ attempts: 2 }] });
  expect(run.finishedAt?.localeCompare(second.finishedAt ?? '')).toBe(1);
  const left = () => app.deps.db.query('SELECT 1 FROM slot UNION ALL SELECT 1 FROM slot_lane');
  await expect.poll(async () => (await left()).length).toBe(0);
});

test('a run that is put off for a moment keeps its slot', async () => {
  failOnce();
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': retry('3s') });
  const first = await app.start(workspace, 'f');
  await putOff(workspace, first);
  const second = await app.start(workspace, 'f');
  expect((await app.run(workspace, second)).status).toBe('queued');
  const [one, two] = [await app.ended(workspace, first), await app.ended(workspace, second)];
  expect([one.status, two.status]).toEqual(['completed', 'completed']);
  expect(two.startedAt?.localeCompare(one.finishedAt ?? '')).toBeGreaterThanOrEqual(0);
});

test('a run that was stopped while it was put off leaves nothing in line', async () => {
  failOnce();
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': retry('1h') });
  const first = await app.start(workspace, 'f');
  await putOff(workspace, first);
  expect((await app.post(`/api/workspaces/${workspace}/runs/${first}/stop`)).status).toBe(200);
  expect((await app.ended(workspace, await app.start(workspace, 'f'))).status).toBe('completed');
  const left = () => app.deps.db.query('SELECT 1 FROM slot UNION ALL SELECT 1 FROM slot_lane');
  await expect.poll(async () => (await left()).length).toBe(0);
});

test('a worker that left hands over its own lanes alone: another one in the same process goes on with its own', async () => {
  const left = await createEngineApp({ models: { ...noModels } });
  await left.stopWorker();
  provider.respond(() => ({ text: 'done' }));
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow('## One @worker\n\nGo.') });
  expect((await app.ended(workspace, await app.start(workspace, 'f'))).status).toBe('completed');
});

test('who advances a lane before its time waits for the rest of it, and calls nobody', async () => {
  failOnce();
  const workspace = await idle.workspace({ ...WORKER, 'flows/f.md': retry('1h') });
  const runId = await idle.start(workspace, 'f');
  const advance = (turn: number, attempt = 1) =>
    advanceLane(idle.deps, { runId, lane: 'main', turn }, attemptOf(attempt));
  const stop = await advance(1);
  expect(stop).toMatchObject({ kind: 'later' });
  const calls = provider.calls.length;
  // The same turn again, as after a crash, and another one, as in a new execution.
  expect(await advance(1, 2)).toEqual(stop);
  expect(await advance(2)).toEqual(stop);
  expect(provider.calls.length).toBe(calls);
  const held = await idle.deps.db.query('SELECT held FROM slot WHERE run_id = $1', [runId]);
  expect(held).toEqual([{ held: false }]);
});
