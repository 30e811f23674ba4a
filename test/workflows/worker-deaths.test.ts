import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOST_ALONE, MOST_IN_COMPANY } from '../../src/engine/agent/deaths.js';
import { advanceLane } from '../../src/engine/index.js';
import { newId } from '../../src/shared/ids.js';
import { attemptOf } from '../support/attempt.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { noModels } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  app = await createEngineApp({ models: { ...noModels, single }, worker: false });
});
afterAll(() => provider.close());

const hang: FakeAnswer = { text: 'one two', hangAfter: 1 };
const FILES = {
  'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n',
  'flows/f.md': flow('## One @worker\n\nGo.\n\n## Two @worker\n\n- timeout: 30s\n\nGo.'),
};

/** A run whose first step is done, and whose second hangs in its model call. */
async function begin() {
  const workspace = await app.workspace(FILES);
  const runId = await app.start(workspace, 'f');
  const answered = (more: FakeAnswer) => (call: { idempotencyKey: string | null }) =>
    call.idempotencyKey?.split('/')[1] === 'one' ? { text: 'first' } : more;
  provider.respond(answered(hang));
  return { workspace, runId, heal: () => provider.respond(answered({ text: 'second' })) };
}

/** Each worker begins five seconds after the one before it was last seen, as a service does that is started again. */
let lives = 0;

const BROKEN = 'a part of the engine broke';

/** Attempts that fail because of the engine, from number `from` on; what each of them rejects with, or its stop. */
async function failAttempts(runId: string, { from, count, turn = 1 }: { from: number; count: number; turn?: number }) {
  const deps = {
    ...app.deps,
    models: {
      ...app.deps.models,
      resolve: () => {
        throw new Error(BROKEN);
      },
    },
  };
  const ends: unknown[] = [];
  for (let attempt = from; attempt < from + count; attempt += 1)
    ends.push(
      await advanceLane(deps, { runId, lane: 'main', turn }, attemptOf(attempt)).catch((error: Error) => error.message),
    );
  return ends;
}

type How = 'died' | 'left' | 'alive' | 'with others' | 'at its end' | 'unrecorded';

/** One worker's attempt at the run that is cut while its call is out. */
async function cut(runId: string, attempt: number, how: How, { workerId = newId(), blocks = 0 } = {}) {
  const before = provider.calls.length;
  const stop = new AbortController();
  let leaving = false;
  const advancing = advanceLane(
    { ...app.deps, workerId, workerBlocks: () => blocks },
    { runId, lane: 'main', turn: 1 },
    { attempt, cancelled: stop.signal, isLeaving: () => leaving },
  );
  const ended = advancing.catch((error: unknown) => error);
  // The last call is that of the second step; a run that is given up makes none.
  const asked = expect.poll(() => provider.calls.slice(before).at(-1)?.idempotencyKey ?? '').toContain('/two/');
  const first = await Promise.race([asked.then(() => null), ended]);
  if (first !== null) return first;
  leaving = how === 'left';
  stop.abort(new Error('the worker ends'));
  await ended;
  if (how === 'unrecorded') return null;
  lives += 1;
  const rows = how === 'with others' ? [workerId, newId()] : [workerId];
  for (const id of rows) {
    await app.deps.db.query(
      `INSERT INTO worker_seen (id, host, pid, version, sandbox, started_at, seen_at, leaving_at)
        SELECT $1, 'h', 1, 'v', 'none', at - interval '1 s', CASE WHEN $3 THEN now() ELSE at END, CASE WHEN $4 THEN now() END
          FROM (SELECT now() - interval '1 day' + $2 * interval '6 s' AS at) beat`,
      [id, lives, how === 'alive', how === 'at its end'],
    );
  }
  return null;
}

const callOf = async (runId: string) => {
  const [row] = await app.deps.db.query<{ state: string; result: Record<string, unknown> }>(
    `SELECT state, result FROM call WHERE run_id = $1 AND step = 'two'`,
    [runId],
  );
  return row;
};

/** A worker that lives, whose main thread was blocked so often; the last time so many ms ago. */
async function livesOn(workerId: string, blocks: number, fromMs = 0) {
  await app.deps.db.query(
    `INSERT INTO worker_seen (id, host, pid, version, sandbox, seen_at, blocks, blocked_from)
      VALUES ($1, 'h', 1, 'v', 'none', now() + interval '1 hour', $2, now() - $3 * interval '1 ms')
      ON CONFLICT (id) DO UPDATE SET blocks = excluded.blocks, blocked_from = excluded.blocked_from`,
    [workerId, blocks, fromMs],
  );
}

async function finish(workspace: string, runId: string, attempt: number) {
  const stop = await advanceLane(app.deps, { runId, lane: 'main', turn: 1 }, attemptOf(attempt));
  return { stop, run: await app.run(workspace, runId) };
}

test.each(['left', 'alive', 'with others', 'at its end'] as const)(
  'a run whose worker ended otherwise (%s) ten times during one call goes on: no death is counted',
  async (how) => {
    const { workspace, runId, heal } = await begin();
    for (let attempt = 1; attempt <= 10; attempt += 1) expect(await cut(runId, attempt, how)).toBeNull();
    heal();
    const { run } = await finish(workspace, runId, 11);
    expect(run).toMatchObject({ status: 'completed', steps: [{ result: 'first' }, { result: 'second' }] });
    expect((await callOf(runId))?.state).toBe('finished');
    // Each call that was cut counts at what it had set aside, and nothing stays set aside.
    expect(run.usage.find(({ estimated }) => estimated)?.calls ?? 0).toBeGreaterThan(0);
    const [held] = await app.deps.db.query('SELECT reserved_nano::int AS nano FROM run WHERE id = $1', [runId]);
    expect(held).toEqual({ nano: 0 });
  },
);

const deathsOf = async (runId: string) => (await callOf(runId))?.result.deaths;

test('a block counts for the call that it cut: not one that the worker had before the call, and one after it', async () => {
  const { runId } = await begin();
  const worker = { workerId: newId(), blocks: 1 };
  expect(await cut(runId, 1, 'unrecorded', worker)).toBeNull();
  await livesOn(worker.workerId, 1);
  expect(await cut(runId, 2, 'unrecorded', worker)).toBeNull();
  expect(await deathsOf(runId)).toBeUndefined();
  await livesOn(worker.workerId, 2);
  expect(await cut(runId, 3, 'unrecorded', { ...worker, blocks: 2 })).toBeNull();
  expect(await deathsOf(runId)).toEqual({ inCompany: 1, alone: 0 });
});

test('a block that is recorded after the next start of its call still counts, once', async () => {
  const { workspace, runId, heal } = await begin();
  const [late, next] = [newId(), newId()];
  await livesOn(late, 0);
  await livesOn(next, 0);
  expect(await cut(runId, 1, 'unrecorded', { workerId: late })).toBeNull();
  expect(await cut(runId, 2, 'unrecorded', { workerId: next })).toBeNull();
  expect(await deathsOf(runId)).toBeUndefined();
  // It began long before the second start.
  await livesOn(late, 1, 60_000);
  for (const attempt of [3, 4]) {
    expect(await cut(runId, attempt, 'unrecorded', { workerId: next })).toBeNull();
    expect(await deathsOf(runId)).toEqual({ inCompany: 1, alone: 0 });
  }
  heal();
  expect((await finish(workspace, runId, 5)).run.status).toBe('completed');
});

test('a block of an earlier worker that began after its call went on elsewhere does not count', async () => {
  const { runId } = await begin();
  const [early, next] = [newId(), newId()];
  await livesOn(early, 0);
  await livesOn(next, 0);
  expect(await cut(runId, 1, 'unrecorded', { workerId: early })).toBeNull();
  expect(await cut(runId, 2, 'unrecorded', { workerId: next })).toBeNull();
  await livesOn(early, 1);
  expect(await cut(runId, 3, 'unrecorded', { workerId: next })).toBeNull();
  expect(await deathsOf(runId)).toBeUndefined();
});

test('a call keeps only the last cuts that are undecided', async () => {
  const { runId } = await begin();
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    const workerId = newId();
    await livesOn(workerId, 0);
    expect(await cut(runId, attempt, 'unrecorded', { workerId })).toBeNull();
  }
  expect((await callOf(runId))?.result.cuts).toHaveLength(4);
});

test('attempts that a worker’s end cut are not failures of the engine: only its fifth failure ends the run', async () => {
  const { workspace, runId, heal } = await begin();
  for (let attempt = 1; attempt <= 6; attempt += 1) expect(await cut(runId, attempt, 'at its end')).toBeNull();
  expect(await failAttempts(runId, { from: 7, count: 4 })).toEqual([BROKEN, BROKEN, BROKEN, BROKEN]);
  heal();
  expect((await finish(workspace, runId, 11)).run.status).toBe('completed');
});

test('the fifth failure of the engine at one turn ends the run, and failures at earlier turns do not count', async () => {
  const { workspace, runId } = await begin();
  expect(await failAttempts(runId, { from: 1, count: 4 })).toEqual([BROKEN, BROKEN, BROKEN, BROKEN]);
  const ends = await failAttempts(runId, { from: 1, count: 5, turn: 2 });
  expect(ends).toEqual([BROKEN, BROKEN, BROKEN, BROKEN, { kind: 'failed' }]);
  expect((await app.run(workspace, runId)).error).toBe(`the engine failed 5 times here: ${BROKEN}`);
});

test('a call during which the worker died many times is made on its own, then given up, and its step can be rerun', async () => {
  const { workspace, runId, heal } = await begin();
  const most = MOST_IN_COMPANY + MOST_ALONE;
  for (let attempt = 1; attempt <= most; attempt += 1) {
    expect(await cut(runId, attempt, 'died')).toBeNull();
    const result = (await callOf(runId))?.result ?? {};
    expect(result.alone ?? false).toBe(attempt > MOST_IN_COMPANY);
  }
  const { stop, run } = await finish(workspace, runId, most + 1);
  expect(stop).toEqual({ kind: 'failed' });
  expect(run).toMatchObject({ status: 'failed', steps: [{ status: 'completed' }, { status: 'failed' }] });
  expect(run.error).toBe(
    `the worker ended or was blocked ${most} times during one model call of Two, so the call is not made again: fix its cause, then rerun from this step`,
  );
  heal();
  const rerun = await app.post(`/api/workspaces/${workspace}/runs/${runId}/rerun`, { step: 2 });
  expect(rerun.status).toBe(202);
  const { runId: next } = (await rerun.json()) as { runId: string };
  const again = await finish(workspace, next, 1);
  expect(again.run).toMatchObject({
    status: 'completed',
    steps: [{ result: 'first', copied: true }, { result: 'second' }],
  });
});

test('a provider that answers with an error shows that the call does not kill its worker', async () => {
  const { workspace, runId, heal } = await begin();
  for (let attempt = 1; attempt <= MOST_IN_COMPANY; attempt += 1) await cut(runId, attempt, 'died');
  provider.respond(() => ({ status: 429, headers: { 'retry-after': '3600' }, body: '{}' }));
  const stop = await advanceLane(app.deps, { runId, lane: 'main', turn: 1 }, attemptOf(4));
  expect(stop.kind).toBe('later');
  expect((await callOf(runId))?.result.deaths).toBeUndefined();
  heal();
  await app.deps.db.query(`UPDATE lane SET loops = loops - 'notBefore' WHERE run_id = $1`, [runId]);
  expect((await finish(workspace, runId, 5)).run.status).toBe('completed');
});

test('a call under suspicion waits for its turn without a worker, in sight of people, and off the clock of its step', async () => {
  const first = await begin();
  const second = await begin();
  for (const { runId } of [first, second])
    for (let attempt = 1; attempt <= MOST_IN_COMPANY; attempt += 1) await cut(runId, attempt, 'died');
  const before = provider.calls.length;
  const stop = new AbortController();
  const atWork = advanceLane(
    app.deps,
    { runId: first.runId, lane: 'main', turn: 1 },
    { attempt: 4, cancelled: stop.signal, isLeaving: () => false },
  ).catch((error: unknown) => error);
  await expect.poll(() => provider.calls.length).toBe(before + 1);

  const turn = { runId: second.runId, lane: 'main', turn: 1 };
  let laterMs = 0;
  const deps = { ...app.deps, clock: { now: () => Date.now() + laterMs } };
  // Far longer in all than the step may take.
  for (let attempt = 4; laterMs < 120_000; attempt += 1) {
    const waits = await advanceLane(deps, turn, attemptOf(attempt));
    expect(waits.kind).toBe('later');
    if (waits.kind === 'later') laterMs = waits.at - Date.now();
    const { status, waiting } = await app.run(second.workspace, second.runId);
    expect([status, waiting]).toEqual([
      'running',
      [expect.objectContaining({ kind: 'turn', id: 'two', reason: expect.stringContaining('waits for its turn') })],
    ]);
  }
  expect(provider.calls.length).toBe(before + 1);
  const told = await app.deps.db.query(`SELECT 1 FROM run_event WHERE run_id = $1 AND type = 'turn.waiting'`, [
    second.runId,
  ]);
  expect(told).toHaveLength(1);
  const leaving = await advanceLane(deps, turn, { ...attemptOf(100), isLeaving: () => true });
  expect(leaving).toEqual({ kind: 'again' });

  stop.abort(new Error('the worker ends'));
  await atWork;
  second.heal();
  expect(await advanceLane(deps, turn, attemptOf(101))).toEqual({ kind: 'done' });
  expect(await app.run(second.workspace, second.runId)).toMatchObject({ status: 'completed', waiting: [] });
});
