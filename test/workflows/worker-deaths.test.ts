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
  'flows/f.md': flow('## One @worker\n\nGo.\n\n## Two @worker\n\nGo.'),
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

/** Between the last beats of workers that did not end together. */
let hours = 100;

type How = 'died' | 'left' | 'alive' | 'with others' | 'at its end';

/** One worker's attempt at the run that is cut while its call is out. */
async function cut(runId: string, attempt: number, how: How) {
  const workerId = newId();
  const before = provider.calls.length;
  const stop = new AbortController();
  let leaving = false;
  const advancing = advanceLane(
    { ...app.deps, workerId },
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
  hours += 1;
  const seconds = { died: 60, left: 60, alive: 0, 'with others': 60, 'at its end': 60 }[how];
  const rows = how === 'with others' ? [workerId, newId()] : [workerId];
  for (const id of rows) {
    await app.deps.db.query(
      `INSERT INTO worker_seen (id, host, pid, version, sandbox, seen_at, leaving_at)
        VALUES ($1, 'h', 1, 'v', 'none', now() - $2 * interval '1 s' - $3 * interval '1 h', CASE WHEN $4 THEN now() END)`,
      [id, seconds, how === 'with others' ? attempt : how === 'alive' ? 0 : hours, how === 'at its end'],
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

async function finish(workspace: string, runId: string, attempt: number) {
  const stop = await advanceLane(app.deps, { runId, lane: 'main', turn: 1 }, attemptOf(attempt));
  return { stop, run: await app.run(workspace, runId) };
}

test.each(['left', 'alive', 'with others', 'at its end'] as const)(
  'a run whose worker ended otherwise (%s) ten times during one call goes on: no death is counted',
  { timeout: 120_000 },
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

test('a call during which the worker died many times is made on its own, then given up, and its step can be rerun', {
  timeout: 120_000,
}, async () => {
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
    `the worker ended ${most} times during one model call of Two, so the call is not made again: mend its cause, then rerun from this step`,
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

test('a provider that answers with an error shows that the call does not kill its worker', {
  timeout: 120_000,
}, async () => {
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
