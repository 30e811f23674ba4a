import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { examine } from '../../src/observe/index.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { answerInTurns, createPlayedApp } from '../support/played-app.js';
import type { Tree } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp(answerInTurns));
});
afterAll(() => provider.close());

const AGENT: Tree = { 'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n' };
const ASK = 'budget: 0.05\non_budget: ask\n';

async function started(files: Tree, body: object = {}): Promise<{ workspace: string; id: string }> {
  const workspace = await app.workspace({ ...AGENT, ...files });
  return { workspace, id: await app.start(workspace, 'f', body) };
}

const asks = (run: RunView) => run.waiting.some((wait) => wait.budget !== undefined);

async function decide(workspace: string, id: string, body: object): Promise<void> {
  const response = await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, body);
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

async function eventsOf(id: string): Promise<string[]> {
  const rows = await app.deps.db.query<{ type: string }>(
    `SELECT type FROM run_event WHERE run_id = $1 AND (type LIKE 'budget.%' OR type LIKE 'approval.%') ORDER BY seq`,
    [id],
  );
  return rows.map(({ type }) => type);
}

test('on_budget: ask parks the step with the figures; an approval grants the flow’s budget once more, and it is told once', async () => {
  const { workspace, id } = await started({ 'flows/f.md': flow('## Work @worker\n\nTURNS=5', ASK) });
  const parked = await app.until(workspace, id, asks);
  expect(parked.status).toBe('awaiting-approval');
  expect(parked.costUsd).toBeLessThanOrEqual(0.05);
  expect(parked.waiting).toMatchObject([
    {
      step: 1,
      kind: 'approval',
      need: 1,
      approvers: ['human'],
      mayDecide: true,
      ask: expect.stringMatching(
        /^The budget of the run, \$0\.05, is used up: \$0\.04\d+ is spent.*grant another \$0\.05/,
      ),
      budget: { of: 'the run', budgetUsd: 0.05, spentUsd: parked.costUsd, raiseUsd: 0.05 },
    },
  ]);
  const [held] = await app.deps.db.query('SELECT reserved_nano AS held FROM run WHERE id = $1', [id]);
  expect(held).toEqual({ held: 0n });
  await decide(workspace, id, { decision: 'approve', note: 'go on' });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null, budgetUsd: 0.1, summary: 'done' });
  expect(run.costUsd).toBeGreaterThan(0.05);
  expect(run.costUsd).toBeLessThanOrEqual(0.1);
  expect(await eventsOf(id)).toEqual(['budget.warning', 'budget.reached', 'approval.requested', 'approval.decided']);
  const trace = run.steps[0]?.trace.map(({ text }) => text).join('\n');
  expect(trace).toMatch(/\d+ % of the run’s budget of \$0\.05 is spent/);
  expect(trace).toContain('the budget of the run, $0.05, is used up: a person is asked for more');
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('a budget that is used up again is asked for again', async () => {
  const { workspace, id } = await started({ 'flows/f.md': flow('## Work @worker\n\nTURNS=8', ASK) });
  await app.until(workspace, id, asks);
  await decide(workspace, id, { decision: 'approve' });
  const again = await app.until(workspace, id, (run) => run.budgetUsd === 0.1 && asks(run));
  expect(again.waiting[0]?.budget).toMatchObject({ budgetUsd: 0.1, raiseUsd: 0.05 });
  await decide(workspace, id, { decision: 'approve', ...again.waiting[0]?.gate });
  const run = await app.ended(workspace, id);
  expect([run.error, run.budgetUsd]).toEqual([null, 0.15]);
  expect((await eventsOf(id)).filter((type) => type === 'budget.warning')).toHaveLength(1);
});

test.each([
  ['a step', '## Work @worker\n\n- on_fail: continue\n\nTURNS=9'],
  ['an item', '## Work @worker\n\n- each: run.tags\n- as: tag\n- on_fail: continue\n\n{{tag}} TURNS=9'],
  ['a branch of a race', '## Race\n\n- join: any\n\n### A @worker\n\nTURNS=9\n\n### B\n\n- wait: event'],
])('a rejection fails the run with the reason, whatever %s would do about a failure', async (_of, body) => {
  const { workspace, id } = await started(
    { 'flows/f.md': flow(`${body}\n\n## After @worker\n\nTURNS=0`, ASK) },
    { tags: ['a'] },
  );
  await app.until(workspace, id, asks);
  await decide(workspace, id, { decision: 'reject', step: 1, note: 'too dear' });
  const run = await app.ended(workspace, id);
  expect(run.status).toBe('failed');
  expect(run.error).toMatch(/^the budget of the run, \$0\.05, is used up, and .+ granted no more: too dear$/);
  expect(run.stopped).toBe(false);
  expect(run.steps.at(-1)?.status).toBe('pending');
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('what goes on at once and waits for the same money is decided at once, and the budget is raised once', async () => {
  const body = '## Work @worker\n\n- each: run.tags\n- as: tag\n- parallel: 3\n\n{{tag}} TURNS=1';
  const { workspace, id } = await started({ 'flows/f.md': flow(body, ASK) }, { tags: ['a', 'b', 'c'] });
  const count = (run: RunView) => run.waiting.filter((wait) => wait.budget).length;
  await app.until(
    workspace,
    id,
    (run) => count(run) > 0 && run.steps[0]?.items?.every((i) => i.status !== 'running') === true,
  );
  await decide(workspace, id, { decision: 'approve', step: 1 });
  for (;;) {
    const run = await app.until(workspace, id, (view) => view.finishedAt !== null || count(view) > 0);
    if (run.finishedAt) break;
    await decide(workspace, id, { decision: 'approve', ...run.waiting.find((wait) => wait.budget)?.gate });
  }
  const run = await app.run(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  const decisions = await app.deps.db.query<{ with: string | null }>(
    `SELECT data->>'with' AS with FROM run_event WHERE run_id = $1 AND type = 'approval.decided'`,
    [id],
  );
  const asked = decisions.filter((one) => one.with === null).length;
  expect(run.budgetUsd).toBeCloseTo(0.05 * (1 + asked), 9);
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

const CALL: Tree = {
  'flows/f.md': flow('## Call\n\n- subflow: inner\n- on_fail: continue', ASK),
  'flows/inner.md': flow('## Inner @worker\n\n- on_fail: continue\n\nTURNS=5'),
};

async function childOf(workspace: string, id: string): Promise<RunView> {
  const parent = await app.until(workspace, id, (run) => run.waiting.some((wait) => wait.runId !== undefined));
  return app.until(workspace, parent.waiting[0]?.runId ?? '', asks);
}

test('a subflow that uses up the budget of the run above it asks in its own step, and the budget above is raised', async () => {
  const { workspace, id } = await started(CALL);
  const child = await childOf(workspace, id);
  expect(child.waiting[0]?.budget).toMatchObject({ of: 'the run of f that this one is part of', raiseUsd: 0.05 });
  expect(child.budgetUsd).toBeUndefined();
  await decide(workspace, child.id, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect([run.status, run.error, run.budgetUsd]).toEqual(['completed', null, 0.1]);
  expect((await app.run(workspace, child.id)).status).toBe('completed');
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('a rejection in a subflow fails the run whose budget it was, and the subflow with it', async () => {
  const { workspace, id } = await started(CALL);
  const child = await childOf(workspace, id);
  await decide(workspace, child.id, { decision: 'reject' });
  const run = await app.ended(workspace, id);
  expect(run.error).toMatch(/^the budget of the run of f that this one is part of, \$0\.05, is used up, and/);
  expect((await app.ended(workspace, child.id)).error).toBe(run.error);
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('a subflow whose own flow asks is raised by its own flow’s budget', async () => {
  const { workspace, id } = await started({
    'flows/f.md': flow('## Call\n\n- subflow: inner', 'budget: 5\n'),
    'flows/inner.md': flow('## Inner @worker\n\nTURNS=5', ASK),
  });
  const child = await childOf(workspace, id);
  expect([child.budgetUsd, child.waiting[0]?.budget?.of]).toEqual([0.05, 'the run']);
  await decide(workspace, child.id, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect([run.status, run.budgetUsd]).toEqual(['completed', 5]);
  expect((await app.run(workspace, child.id)).budgetUsd).toBe(0.1);
});

test('on_budget: stop asks nobody, and tells that the budget is used up', async () => {
  const { workspace, id } = await started({ 'flows/f.md': flow('## Work @worker\n\nTURNS=5', 'budget: 0.05\n') });
  const run = await app.ended(workspace, id);
  expect(run.error).toContain('the budget of the run, $0.05, is used up');
  expect(await eventsOf(id)).toEqual(['budget.warning', 'budget.reached']);
});

test('a step that waits for money is ended by a stop, and a late approval changes nothing', async () => {
  const { workspace, id } = await started({ 'flows/f.md': flow('## Work @worker\n\nTURNS=5', ASK) });
  await app.until(workspace, id, asks);
  await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`, {});
  const run = await app.ended(workspace, id);
  expect([run.status, run.stopped, run.waiting]).toEqual(['failed', true, []]);
  const late = await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'approve' });
  expect(late.status).toBe(409);
  expect((await app.run(workspace, id)).budgetUsd).toBe(0.05);
});
