import { Client, Connection } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Deps } from '../../src/deps.js';
import { FirstAdvances, reconcile, sweepOutbox } from '../../src/engine/index.js';
import { releaseLane, takeOverLane } from '../../src/engine/journal/carry.js';
import { startWorkerHeartbeat } from '../../src/platform/db/index.js';
import { newId } from '../../src/shared/ids.js';
import { attemptOf } from '../support/attempt.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeCall, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { closedHistoriesOf } from '../support/own-temporal.js';
import { silentLog } from '../support/silent-log.js';
import { testTemporal } from '../support/temporal.js';
import { noModels } from '../support/workspace-app.js';

const TREE = {
  'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n',
  'flows/f.md': flow('## One @worker\n\nGo.\n\n## Two @worker\n\nGo on.'),
};

let app: EngineApp;
let idle: EngineApp;
let provider: FakeProvider;
let client: Client;
beforeAll(async () => {
  provider = await startFakeProvider();
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  const models = { ...noModels, single };
  app = await createEngineApp({ models });
  idle = await createEngineApp({ models, worker: false });
  const { address, namespace } = testTemporal();
  client = new Client({ connection: await Connection.connect({ address }), namespace });
});
afterAll(async () => {
  await client.connection.close();
  await provider.close();
});
beforeEach(() => provider.respond(() => ({ text: 'ok' })));

/** Holds the first call of a run until it is released. */
function hold() {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let call: FakeCall | undefined;
  provider.respond(async (made) => {
    if (call === undefined) {
      call = made;
      await held;
    }
    return { text: 'ok' };
  });
  return { release, isAsked: () => call !== undefined, hungUp: () => call?.hungUp() };
}

const callsOf = (id: string) => [...provider.byKey()].filter(([key]) => key.startsWith(id)).map(([, count]) => count);

async function laneOf({ deps }: EngineApp, id: string) {
  const [row] = await deps.db.query<{ turn: number; attempt: number; fence: bigint; state: string }>(
    `SELECT turn, attempt, fence, state FROM lane WHERE run_id = $1 AND lane = 'main'`,
    [id],
  );
  return row && [row.turn, row.attempt, Number(row.fence), row.state];
}

async function eventsOf(id: string): Promise<string[]> {
  const [history] = await closedHistoriesOf(client, id);
  return (history?.events ?? []).map(
    (event) => Object.keys(event).find((key) => key.endsWith('EventAttributes')) ?? '',
  );
}

const typeOf = async (id: string) => (await client.workflow.getHandle(id).describe()).type;
const started = async (one: EngineApp) => {
  const workspace = await one.workspace(TREE);
  return { workspace, id: await one.start(workspace, 'f') };
};

test('a run that needs no second advance is one workflow task, with its advance in it', async () => {
  const { workspace, id } = await started(app);
  expect((await app.ended(workspace, id)).status).toBe('completed');
  expect(await eventsOf(id)).toEqual([
    'workflowExecutionStartedEventAttributes',
    'workflowTaskScheduledEventAttributes',
    'workflowTaskStartedEventAttributes',
    'workflowTaskCompletedEventAttributes',
    'markerRecordedEventAttributes',
    'workflowExecutionCompletedEventAttributes',
  ]);
  expect(callsOf(id)).toEqual([1, 1]);
});

test('an advance that takes long goes on, and an activity takes it over: no call is made twice', async () => {
  const held = hold();
  const { workspace, id } = await started(app);
  await expect.poll(() => laneOf(app, id)).toEqual([2, 1, 1, 'running']);
  held.release();
  expect((await app.ended(workspace, id)).status).toBe('completed');
  expect(callsOf(id)).toEqual([1, 1]);
  const events = await eventsOf(id);
  expect(events.filter((name) => name.startsWith('activityTask'))).toHaveLength(3);
  expect(events.filter((name) => name.startsWith('marker'))).toHaveLength(1);
});

test('a stop ends the first advance and its call, before and after an activity has it', async () => {
  for (const isCarried of [false, true]) {
    const held = hold();
    const { workspace, id } = await started(app);
    await expect.poll(held.isAsked).toBe(true);
    if (isCarried) await expect.poll(() => laneOf(app, id)).toEqual([2, 1, 1, 'running']);
    await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`);
    expect((await app.ended(workspace, id)).stopped).toBe(true);
    await expect.poll(held.hungUp).toBe(true);
    await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
    held.release();
  }
});

test('a cancellation that only Temporal knows ends the run, before and after an activity has it', async () => {
  for (const isCarried of [false, true]) {
    const held = hold();
    const { workspace, id } = await started(app);
    await expect.poll(held.isAsked).toBe(true);
    if (isCarried) await expect.poll(() => laneOf(app, id)).toEqual([2, 1, 1, 'running']);
    await client.workflow.getHandle(id).cancel();
    expect((await app.ended(workspace, id)).error).toBe('the run was cut short');
    await expect.poll(held.hungUp).toBe(true);
    held.release();
  }
});

test('a worker that shuts down lets the first call end, and the next worker continues after it', async () => {
  const held = hold();
  const { workspace, id } = await started(app);
  await expect.poll(held.isAsked).toBe(true);
  const restarting = app.restartWorker({});
  held.release();
  await restarting;
  expect((await app.ended(workspace, id)).status).toBe('completed');
  expect(callsOf(id)).toEqual([1, 1]);
});

test('while a worker of another build may live, a run begins as every build can replay it', async () => {
  await app.restartWorker({ isOnlyBuild: () => false });
  const { workspace, id } = await started(app);
  await app.ended(workspace, id);
  expect(await typeOf(id)).toBe('runFlow');
  await app.restartWorker({});
  const next = await started(app);
  await app.ended(next.workspace, next.id);
  expect(await typeOf(next.id)).toBe('runFlowLocal');
});

/** The slots that the workers of `worker` hold. */
let openSlots = 0;
const takeSlot = () => {
  openSlots += 1;
  let isOpen = true;
  return () => {
    if (isOpen) openSlots -= 1;
    isOpen = false;
  };
};
afterEach(() => expect.poll(() => openSlots).toBe(0));

/** What a worker has, without a worker: the test is the workflow. */
function worker(
  workerId: string,
  options: Partial<ConstructorParameters<typeof FirstAdvances>[1]> = {},
  own: Partial<Deps> = {},
) {
  const deps: Deps = { ...idle.deps, workerId, ...own };
  return new FirstAdvances(deps, { isLeaving: () => false, tryTakeSlot: takeSlot, ...options });
}
const first = (runId: string) => ({ runId, lane: 'main', turn: 1 });
const second = (runId: string, carriedBy?: string) => ({
  runId,
  lane: 'main',
  turn: 2,
  ...(carriedBy && { carriedBy }),
});
const attempt = attemptOf(1);
/** What an advance of a run that has ended answers, however it ended. */
const ENDED = { kind: 'failed' };

async function registered(id: string) {
  return startWorkerHeartbeat(idle.deps.db, { id, version: 'v', sandbox: 'none', models: () => [] }, silentLog);
}

test('a worker that shuts down or has no room leaves the lane to an ordinary activity', async () => {
  const { id } = await started(idle);
  for (const options of [{ isLeaving: () => true }, { tryTakeSlot: () => null }]) {
    const full = worker('full', options);
    full.beginEarly(id);
    expect(await full.begin(first(id))).toEqual({ kind: 'again' });
  }
  expect(await laneOf(idle, id)).toEqual([0, 0, 0, 'running']);
  expect(await worker('other').advance(second(id), attempt)).toEqual({ kind: 'done' });
});

test('a repeated workflow task joins the advance that is active, and finds an ended one stale', async () => {
  const held = hold();
  const { id } = await started(idle);
  const one = worker('one');
  const both = [one.begin(first(id)), one.begin(first(id))];
  await expect.poll(held.isAsked).toBe(true);
  held.release();
  expect(await Promise.all(both)).toEqual([{ kind: 'done' }, { kind: 'done' }]);
  expect(await one.begin(first(id))).toEqual({ kind: 'again' });
  expect(await one.advance(second(id), attempt)).toEqual(ENDED);
  expect(callsOf(id)).toEqual([1, 1]);
});

test('the workflow gets the outcome of an early advance, also when that has ended before it asks', async () => {
  const { workspace, id } = await started(idle);
  const one = worker('one');
  one.beginEarly(id);
  one.beginEarly(id);
  await idle.ended(workspace, id);
  expect(await one.begin(first(id))).toEqual({ kind: 'done' });
  expect([await laneOf(idle, id), callsOf(id)]).toEqual([
    [1, 1, 1, 'done'],
    [1, 1],
  ]);
});

test('while the worker that carries an advance on lives, another one does not claim the lane; it takes over once that has ended', async () => {
  const [one, other] = [worker(newId()), worker(newId())];
  const oneId = newId();
  const living = worker(oneId);
  const register = await registered(oneId);
  try {
    const held = hold();
    const { id } = await started(idle);
    expect(await living.begin(first(id))).toEqual({ kind: 'again', carriedBy: oneId });
    await expect(other.advance(second(id, oneId), attempt)).rejects.toThrow('still carries on');
    await expect(one.advance(second(id, oneId), attempt)).rejects.toThrow('still carries on');
    expect(await laneOf(idle, id)).toEqual([1, 1, 1, 'running']);
    held.release();
    await expect.poll(() => laneOf(idle, id)).toEqual([1, 2, 1, 'done']);
    expect(await other.advance(second(id, oneId), attempt)).toEqual(ENDED);
    expect(callsOf(id)).toEqual([1, 1]);
  } finally {
    await register.close();
  }
});

test('a lane that another attempt has claimed is neither taken over nor released', async () => {
  const held = hold();
  const { id } = await started(idle);
  const one = worker('one');
  expect(await one.begin(first(id))).toMatchObject({ kind: 'again' });
  // Another process lost the run and claimed it from the start.
  await idle.deps.db.query(`UPDATE lane SET fence = fence + 1 WHERE run_id = $1`, [id]);
  expect(await takeOverLane(idle.deps.db, second(id), { attempt: 1, fence: 1n })).toBe(false);
  await releaseLane(idle.deps.db, id, 1n);
  held.release();
  await one.close(60_000);
  expect(await laneOf(idle, id)).toEqual([1, 1, 2, 'running']);
});

test('an activity whose takeover was committed and not answered takes over again, and cuts no call', async () => {
  const held = hold();
  const { id } = await started(idle);
  const one = worker('one');
  expect(await one.begin(first(id))).toMatchObject({ kind: 'again' });
  expect(await takeOverLane(idle.deps.db, second(id), { attempt: 1, fence: 1n })).toBe(true);
  const advanced = one.advance(second(id), attemptOf(2));
  await expect.poll(() => laneOf(idle, id)).toEqual([2, 2, 1, 'running']);
  held.release();
  expect(await advanced).toEqual({ kind: 'done' });
  expect(callsOf(id)).toEqual([1, 1]);
});

test('a failed release is repeated until other workers may claim the lane', async () => {
  const held = hold();
  const { id } = await started(idle);
  let failures = 0;
  const db: Deps['db'] = {
    ...idle.deps.db,
    query: (async (statement: never, values: never) => {
      if (
        typeof statement === 'string' &&
        String(statement).startsWith('UPDATE lane SET attempt = 2') &&
        failures < 1
      ) {
        failures += 1;
        throw new Error('no answer');
      }
      return idle.deps.db.query(statement, values);
    }) as Deps['db']['query'],
  };
  const one = worker('one', {}, { db });
  expect(await one.begin(first(id))).toMatchObject({ kind: 'again' });
  held.release();
  await expect.poll(() => laneOf(idle, id)).toEqual([1, 2, 1, 'done']);
  expect(failures).toBe(1);
});

test('an advance that a dead worker carried on is claimed at once; what it still does is not written', async () => {
  const held = hold();
  const { workspace, id } = await started(idle);
  const dead = worker('dead');
  expect(await dead.begin(first(id))).toMatchObject({ kind: 'again' });
  expect(await worker('other').advance(second(id, 'dead'), attempt)).toEqual({ kind: 'done' });
  held.release();
  await dead.close(60_000);
  expect(await laneOf(idle, id)).toEqual([2, 1, 2, 'done']);
  expect(callsOf(id)).toEqual([2, 1]);
  expect((await idle.run(workspace, id)).status).toBe('completed');
});

test('a shutdown waits for an advance that no activity has taken over, and cuts it after the grace time', async () => {
  const held = hold();
  const { id } = await started(idle);
  const one = worker('one');
  expect(await one.begin(first(id))).toMatchObject({ kind: 'again' });
  let isClosed = false;
  const closing = one.close(60_000).then(() => {
    isClosed = true;
  });
  expect(await one.begin(first(newId()))).toEqual({ kind: 'again' });
  expect(isClosed).toBe(false);
  held.release();
  await closing;
  expect(await laneOf(idle, id)).toEqual([1, 2, 1, 'done']);

  const cut = hold();
  const { id: next } = await started(idle);
  const two = worker('two');
  expect(await two.begin(first(next))).toMatchObject({ kind: 'again' });
  await two.close(0);
  await expect.poll(cut.hungUp).toBe(true);
  cut.release();
  expect(await worker('other').advance(second(next, 'two'), attempt)).toEqual({ kind: 'done' });
});

test('a run that Temporal lost starts again with an ordinary activity', async () => {
  const starts = new Map<string, object | undefined>();
  const deps: Deps = {
    ...idle.deps,
    workflows: {
      ...idle.deps.workflows,
      async *openRuns() {},
      describeRun: async () => 'missing',
      startRun: async (run, options) => void starts.set(run, options),
    },
  };
  const { id } = await started(idle);
  await idle.deps.db.query(`DELETE FROM outbox WHERE run_id = $1`, [id]);
  expect((await reconcile(deps, { graceMs: 0 })).started).toContain(id);
  await idle.deps.db.query(`UPDATE outbox SET due_at = now() - interval '5 s'`);
  await sweepOutbox(deps);
  expect(starts.get(id)).toEqual({ isAgain: true });
});
