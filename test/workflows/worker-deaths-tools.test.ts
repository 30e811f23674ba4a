import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOST_IN_COMPANY } from '../../src/engine/agent/deaths.js';
import { advanceLane } from '../../src/engine/index.js';
import { startWorkerHeartbeat } from '../../src/platform/db/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { newId } from '../../src/shared/ids.js';
import { attemptOf } from '../support/attempt.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { startLocalServer } from '../support/local-server.js';
import { silentLog } from '../support/silent-log.js';
import { noModels } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
let server: Awaited<ReturnType<typeof startLocalServer>>;
let isWell = false;
/** The operations that the model calls in its one turn with calls. */
let asked: readonly string[] = ['get'];
beforeAll(async () => {
  provider = await startFakeProvider(({ body }) =>
    (body.messages as { role: string }[]).some(({ role }) => role === 'tool')
      ? { text: 'after' }
      : { calls: asked.map((name) => ({ name: `shop__${name}`, args: {} })) },
  );
  const allowHosts = [{ host: '127.0.0.1', port: null }];
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  const net = createNet({ config: { allowHosts, version: 'test' } });
  app = await createEngineApp({ models: { ...noModels, single }, worker: false, deps: { net }, allowHosts });
});
afterAll(() => provider.close());

/** A shop that hangs until it is well. */
async function openShop(): Promise<void> {
  isWell = false;
  server = await startLocalServer((_request, response) => {
    if (isWell) response.setHeader('content-type', 'application/json').end('{}');
  });
}

async function begin() {
  const workspace = await app.workspace({
    'agents/worker.md': '---\ndescription: Works.\ntools: [shop]\n---\n\nYou work.\n',
    'flows/f.md': flow('## One @worker\n\n- timeout: 30s\n\nGo.'),
    'tools/shop/tool.md': `---\ndescription: The shop.\nbase: ${server.url}\nmethods: [GET]\nopenapi: shop.json\n---\n\nIt sells.\n`,
    'tools/shop/shop.json': JSON.stringify({
      openapi: '3.1.0',
      paths: Object.fromEntries(['get', 'list', 'count'].map((name) => [`/${name}`, { get: { operationId: name } }])),
    }),
  });
  return { workspace, runId: await app.start(workspace, 'f') };
}

/** A worker's attempt at the run until its tool calls are out; `cut` ends it there. */
async function atWork(runId: string, attempt: number, { workerId = newId(), requests = 1 } = {}) {
  const before = server.requests.length;
  const stop = new AbortController();
  const advancing = advanceLane(
    { ...app.deps, workerId },
    { runId, lane: 'main', turn: 1 },
    { ...attemptOf(attempt), cancelled: stop.signal },
  ).catch((error: unknown) => error);
  await expect.poll(() => server.requests.length).toBe(before + requests);
  return {
    async cut() {
      stop.abort(new Error('the worker ends'));
      await advancing;
    },
  };
}

async function callOf(runId: string) {
  const [row] = await app.deps.db.query<{ result: { deaths?: object; alone?: boolean } }>(
    `SELECT result FROM call WHERE run_id = $1 AND kind = 'tool'`,
    [runId],
  );
  return row?.result;
}

test('a tool call that an orderly end of its worker cut counts no death, however long ago that worker ended', async () => {
  await openShop();
  const { workspace, runId } = await begin();
  for (let attempt = 1; attempt <= MOST_IN_COMPANY + 2; attempt += 1) {
    const workerId = newId();
    const entry = { id: workerId, version: '1', sandbox: 'none', models: () => [] };
    const worker = await startWorkerHeartbeat(app.deps.db, entry, silentLog);
    const work = await atWork(runId, attempt, { workerId });
    await worker.leave();
    await work.cut();
    await worker.close();
    await app.deps.db.query(`UPDATE worker_seen SET seen_at = now() - interval '2 days' WHERE id = $1`, [workerId]);
    expect((await callOf(runId))?.deaths).toBeUndefined();
  }
  isWell = true;
  await advanceLane(app.deps, { runId, lane: 'main', turn: 1 }, attemptOf(100));
  expect(await app.run(workspace, runId)).toMatchObject({ status: 'completed', steps: [{ result: 'after' }] });
});

test('a tool call under suspicion waits for its turn without a worker and off the clock of its step', async () => {
  await openShop();
  const [first, second] = [await begin(), await begin()];
  for (const { runId } of [first, second])
    for (let attempt = 1; attempt <= MOST_IN_COMPANY; attempt += 1) await (await atWork(runId, attempt)).cut();
  const busy = await atWork(first.runId, 4);
  expect(await callOf(first.runId)).toMatchObject({ alone: true });
  const before = server.requests.length;
  let laterMs = 0;
  const deps = { ...app.deps, clock: { now: () => Date.now() + laterMs } };
  const turn = { runId: second.runId, lane: 'main', turn: 1 };
  for (let attempt = 4; laterMs < 60_000; attempt += 1) {
    const waits = await advanceLane(deps, turn, attemptOf(attempt));
    expect(waits.kind).toBe('later');
    if (waits.kind === 'later') laterMs = waits.at - Date.now();
    expect((await app.run(second.workspace, second.runId)).waiting).toMatchObject([{ kind: 'turn', id: 'one' }]);
  }
  expect(server.requests.length).toBe(before);
  await busy.cut();
  isWell = true;
  expect(await advanceLane(deps, turn, attemptOf(100))).toEqual({ kind: 'done' });
  expect(await app.run(second.workspace, second.runId)).toMatchObject({ status: 'completed', waiting: [] });
});

test('suspect calls of one turn are made one at a time, so that none is blamed for another one', async () => {
  await openShop();
  asked = ['get', 'list', 'count'];
  const { workspace, runId } = await begin();
  for (let attempt = 1; attempt <= MOST_IN_COMPANY; attempt += 1)
    await (await atWork(runId, attempt, { requests: 3 })).cut();
  const before = server.requests.length;
  await (await atWork(runId, 4)).cut();
  expect(server.requests.slice(before).map(({ path }) => path)).toEqual(['/get']);
  const aloneMarks = async () => {
    const rows = await app.deps.db.query<{ result: { deaths?: object; alone?: boolean } }>(
      `SELECT result FROM call WHERE run_id = $1 AND kind = 'tool' ORDER BY call`,
      [runId],
    );
    return rows.map(({ result }) => result.alone ?? false);
  };
  expect(await aloneMarks()).toEqual([true, false, false]);
  // The one that has been alone during a death is now more suspect than the others.
  await (await atWork(runId, 5)).cut();
  expect(server.requests.slice(before).map(({ path }) => path)).toEqual(['/get', '/list']);
  isWell = true;
  await advanceLane(app.deps, { runId, lane: 'main', turn: 1 }, attemptOf(100));
  const paths = server.requests.slice(before + 2).map(({ path }) => path);
  expect(paths).toEqual(['/count', '/get', '/list']);
  expect(await app.run(workspace, runId)).toMatchObject({ status: 'completed', steps: [{ result: 'after' }] });
});
