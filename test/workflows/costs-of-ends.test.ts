import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { examine } from '../../src/observe/index.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';
import type { Tree } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
let wasLate = false;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp(({ prompt }) => {
    if (prompt.includes('BUSY')) return { status: 429, headers: { 'retry-after': '9' }, body: '{}' };
    if (prompt.includes('LATER') && !wasLate) {
      wasLate = true;
      return { status: 429, headers: { 'retry-after': '11' }, body: '{}' };
    }
    return { text: 'done', usage: { input: 1_000, output: 100 } };
  }));
});
afterAll(() => provider.close());

const CALL_USD = 0.002;
const AGENT: Tree = { 'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n' };

/** A subflow that has made one call and waits for an event. */
const INNER: Tree = { 'flows/inner.md': flow('## Paid @worker\n\nGo.\n\n## Held\n\n- wait: event') };

const childOf = (run: RunView) => run.waiting.find((wait) => wait.runId !== undefined)?.runId;

async function startedWithChild(body: string): Promise<{ workspace: string; id: string; child: string }> {
  const workspace = await app.workspace({ ...AGENT, ...INNER, 'flows/f.md': flow(body) });
  const id = await app.start(workspace, 'f');
  const child = childOf(await app.until(workspace, id, (run) => childOf(run) !== undefined)) ?? '';
  await app.until(workspace, child, (run) => run.waiting.some((wait) => wait.kind === 'event'));
  return { workspace, id, child };
}

test('what a subflow had spent counts as its step’s, though a stop ended both', async () => {
  const { workspace, id, child } = await startedWithChild('## Own @worker\n\nGo.\n\n## Call\n\n- subflow: inner');
  await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`);
  const run = await app.run(workspace, id);
  expect((await app.run(workspace, child)).costUsd).toBeCloseTo(CALL_USD, 9);
  expect(run.steps.map(({ costUsd }) => costUsd)).toEqual([CALL_USD, CALL_USD]);
  expect(run.costUsd).toBeCloseTo(2 * CALL_USD, 9);
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('what a subflow had spent counts as its step’s, level by level', async () => {
  const workspace = await app.workspace({
    ...AGENT,
    ...INNER,
    'flows/f.md': flow('## Call\n\n- subflow: middle'),
    'flows/middle.md': flow('## Own @worker\n\nGo.\n\n## Deeper\n\n- subflow: inner'),
  });
  const id = await app.start(workspace, 'f');
  const middle = childOf(await app.until(workspace, id, (run) => childOf(run) !== undefined)) ?? '';
  const inner = childOf(await app.until(workspace, middle, (run) => childOf(run) !== undefined)) ?? '';
  await app.until(workspace, inner, (run) => run.waiting.some((wait) => wait.kind === 'event'));
  await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`);
  const costs = await Promise.all([id, middle, inner].map(async (run) => (await app.run(workspace, run)).costUsd));
  expect(costs).toEqual([2 * CALL_USD, 2 * CALL_USD, CALL_USD]);
});

test('what the subflow of a race’s loser had spent counts as its step’s, once', async () => {
  const body =
    '## Race\n\n- join: any\n\n### Call\n\n- subflow: inner\n\n### Held\n\n- wait: event\n\n## After @worker\n\nGo.';
  const { workspace, id } = await startedWithChild(body);
  const parked = await app.until(workspace, id, (run) => run.waiting.some((wait) => wait.releaseUrl !== undefined));
  const url = new URL(parked.waiting.find((wait) => wait.releaseUrl !== undefined)?.releaseUrl ?? '');
  const released = await app.request(`${url.pathname}${url.search}`, { method: 'POST', as: null });
  expect(released.status).toBe(200);
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.steps.map(({ id: step, costUsd }) => [step, costUsd])).toEqual([
    ['call', CALL_USD],
    ['held', 0],
    ['after', CALL_USD],
  ]);
  expect(run.costUsd).toBeCloseTo(2 * CALL_USD, 9);
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('a refused call that is waited with in place costs nothing when the step’s timeout cuts the wait', async () => {
  const workspace = await app.workspace({
    ...AGENT,
    'flows/f.md': flow('## Work @worker\n\n- timeout: 3s\n\nBUSY', 'budget: 1\n'),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run.error).toContain('timeout');
  expect(run.steps[0]?.trace.map(({ kind }) => kind)).toContain('model.retrying');
  expect([run.costUsd, run.usage]).toEqual([0, []]);
  const [row] = await app.deps.db.query('SELECT reserved_nano AS held FROM run WHERE id = $1', [run.id]);
  expect(row).toEqual({ held: 0n });
  expect(await examine({ deps: app.deps, root: run.id })).toEqual([]);
});

test('what a subflow had spent counts as its step’s when the time of the run above it is over', async () => {
  const workspace = await app.workspace({
    ...AGENT,
    ...INNER,
    'flows/f.md': flow('## Call\n\n- subflow: inner\n- on_fail: continue\n\n## After @worker\n\nGo.', 'timeout: 5s\n'),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run.error).toContain('timeout');
  expect(run.steps.map(({ costUsd }) => costUsd)).toEqual([CALL_USD, 0]);
  expect(run.costUsd).toBeCloseTo(CALL_USD, 9);
  expect(await examine({ deps: app.deps, root: run.id })).toEqual([]);
});

test('a call that was cut and is not the next one any more is booked, and holds nothing for ever', async () => {
  const workspace = await app.workspace({ ...AGENT, 'flows/f.md': flow('## Work @worker\n\nLATER', 'budget: 1\n') });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.steps[0]?.trace.some(({ kind }) => kind === 'model.waiting') === true);
  // A summary was asked for when the process died; with the models of the next one there is room enough.
  await app.deps.db.query(
    `INSERT INTO call (run_id, lane, step, item, round, attempt, epoch, turn, call, kind, name, acts, state, fence, result)
      SELECT run_id, lane, step, item, round, attempt, epoch + 1, turn, -1, kind, name, acts, 'started', fence, '{"reserve":"10000000"}'
      FROM call WHERE run_id = $1`,
    [id],
  );
  await app.deps.db.query('UPDATE run SET reserved_nano = reserved_nano + 10000000 WHERE id = $1', [id]);
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.costUsd).toBeCloseTo(CALL_USD + 0.01, 9);
  const calls = await app.deps.db.query('SELECT turn, call, state FROM call WHERE run_id = $1 ORDER BY call', [id]);
  expect(calls).toEqual([
    { turn: 0, call: -1, state: 'interrupted' },
    { turn: 0, call: 0, state: 'finished' },
  ]);
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});
