import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { correctMonths } from '../../src/engine/index.js';
import { examine } from '../../src/observe/index.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { answerInTurns, createPlayedApp, usageOf } from '../support/played-app.js';
import { pushBranch } from '../support/previews.js';
import { bodyOf, fileList, type Tree } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp((call) => {
    if (call.prompt.includes('LATE')) return { text: 'late', delayMs: 60_000, usage: usageOf(call) };
    const answer = answerInTurns(call);
    return answer.calls ? { ...answer, delayMs: 10 } : answer;
  }));
});
afterAll(() => provider.close());

const tree = (budget: string, body = '## Work @worker\n\nTURNS=9', keys = ''): Tree => ({
  'AGENTS.md': `---\ndescription: A workspace\n${budget}---\n\nBe brief.\n`,
  'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
  'flows/f.md': flow(body, keys),
  'flows/small.md': flow('## Work @worker\n\nTURNS=0'),
});

async function deploy(workspace: string, files: Tree): Promise<void> {
  const response = await app.post(`/api/workspaces/${workspace}/deploy`, {
    message: 'm',
    force: true,
    files: fileList(files),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

async function spentBy(workspace: string): Promise<bigint> {
  const [row] = await app.deps.db.query<{ nano: bigint }>(
    `SELECT coalesce(sum(u.nano), 0)::bigint AS nano FROM usage u JOIN workspace w ON w.id = u.workspace_id WHERE w.name = $1`,
    [workspace],
  );
  return row?.nano ?? 0n;
}

function poolOf(workspace: string) {
  return app.deps.db.query<{ key: string; nano: bigint; held: bigint }>(
    `SELECT s.key, s.nano, s.held FROM spent s JOIN workspace w ON s.key LIKE 'month/workspace/' || w.id || '/%' WHERE w.name = $1`,
    [workspace],
  );
}

test('security 31: a month that is used up fails the step in flight, and refuses starts and reruns with the figures', async () => {
  const workspace = await app.workspace(tree('timezone: Europe/Vienna\nbudget: 0.05\n'));
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect(run.error).toMatch(
    new RegExp(`the budget of the workspace ${workspace} for \\w+ \\d{4}, \\$0\\.05, is used up`),
  );
  expect(run.costUsd).toBeLessThanOrEqual(0.05);
  expect(run.costUsd).toBeGreaterThan(0.04);
  const at = `/api/workspaces/${workspace}`;
  // A call may still fit that the last one did not: what is spent to the last cent refuses.
  await app.deps.db.query(`UPDATE spent SET nano = 50000000 WHERE key LIKE 'month/workspace/%' AND key = $1`, [
    (await poolOf(workspace))[0]?.key,
  ]);
  for (const [path, body] of [
    [`${at}/flows/f/run`, {}],
    [`${at}/agents/worker/run`, { task: 'Go.' }],
    [`${at}/runs/${id}/rerun`, {}],
  ] as const) {
    const response = await app.post(path, body);
    expect(response.status).toBe(402);
    expect(await bodyOf(response)).toMatchObject({
      error: expect.stringMatching(
        new RegExp(`^the workspace ${workspace} has spent \\$0\\.05 of its budget of \\$0\\.05 for \\w+ \\d{4}: raise`),
      ),
      code: 'budget/month',
      scope: 'workspace',
      budgetUsd: 0.05,
      spentUsd: 0.05,
      resetsAt: expect.stringMatching(/T2[23]:00:00\.000Z$/),
    });
  }
  await deploy(workspace, tree('budget: 5\n'));
  expect((await app.post(`${at}/flows/small/run`, {})).status).toBe(202);
});

test('security 31: two runs at once never pass the month’s last cent', async () => {
  const workspace = await app.workspace(tree('budget: 0.12\n'));
  const ids = await Promise.all([1, 2, 3].map(() => app.start(workspace, 'f')));
  const runs = await Promise.all(ids.map((id) => app.ended(workspace, id)));
  for (const run of runs) expect(run.error).toContain('is used up');
  const spent = await spentBy(workspace);
  expect(Number(spent)).toBeLessThanOrEqual(0.12e9);
  expect(Number(spent)).toBeGreaterThan(0.1e9);
  expect(await poolOf(workspace)).toMatchObject([{ nano: spent, held: 0n }]);
  expect(await examine({ deps: app.deps, root: null })).toEqual([]);
});

test('security 31: a preview never passes its source’s month, whatever its own branch says', async () => {
  const workspace = await app.workspace(tree('budget: 0.05\n'));
  const { name } = await pushBranch(app, { workspace, branch: 'rich', files: tree('budget: 5\n') });
  const runs = await Promise.all([workspace, name].map(async (of) => app.ended(of, await app.start(of, 'f'))));
  for (const run of runs) expect(run.error).toContain(`the budget of the workspace ${workspace} for`);
  expect(Number((await spentBy(workspace)) + (await spentBy(name)))).toBeLessThanOrEqual(0.05e9);
  expect(await poolOf(name)).toEqual([]);
  expect(await examine({ deps: app.deps, root: null })).toEqual([]);
});

test('security 31: the account’s month holds all of its workspaces together', async () => {
  const [before] = await app.deps.db.query<{ nano: bigint }>(
    'SELECT coalesce(sum(nano), 0)::bigint AS nano FROM usage WHERE tenant_id = $1',
    [app.tenant],
  );
  const cap = (before?.nano ?? 0n) + 60_000_000n;
  await app.deps.db.query('UPDATE tenant SET budget_nano = $2, timezone = $3 WHERE id = $1', [
    app.tenant,
    cap,
    'America/New_York',
  ]);
  try {
    const [a, b] = [await app.workspace(tree('')), await app.workspace(tree(''))];
    const runs = await Promise.all([a, b].map(async (name) => app.ended(name, await app.start(name, 'f'))));
    for (const run of runs)
      expect(run.error).toMatch(/the budget of the account .+ for \w+ \d{4}, \$[\d.]+, is used up/);
    const used = (await spentBy(a)) + (await spentBy(b));
    expect(used).toBeLessThanOrEqual(60_000_000n);
    expect(used).toBeGreaterThan(50_000_000n);
    await app.deps.db.query('UPDATE tenant SET budget_nano = 1 WHERE id = $1', [app.tenant]);
    const refused = await app.post(`/api/workspaces/${a}/flows/small/run`, {});
    expect([refused.status, (await bodyOf(refused)).scope]).toEqual([402, 'account']);
  } finally {
    await app.deps.db.query('UPDATE tenant SET budget_nano = NULL, timezone = NULL WHERE id = $1', [app.tenant]);
  }
});

test('with on_budget: ask a month that is used up is asked about, and an approval looks again', async () => {
  const body = '## Work @worker\n\nTURNS=5';
  const files = (budget: string) => tree(budget, body, 'on_budget: ask\n');
  const workspace = await app.workspace(files('budget: 0.05\n'));
  const id = await app.start(workspace, 'f');
  const asks = (run: { waiting: readonly { budget?: unknown }[] }) => run.waiting.some((wait) => wait.budget);
  const parked = await app.until(workspace, id, asks);
  expect(parked.waiting[0]).toMatchObject({
    ask: expect.stringContaining('Raise it, then approve to continue'),
    budget: { of: expect.stringContaining(`the workspace ${workspace} for`), budgetUsd: 0.05, raiseUsd: null },
  });
  const approve = (gate?: object) =>
    app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'approve', ...gate });
  expect((await approve()).status).toBe(200);
  // The budget is as it was: it asks again.
  const isNew = (run: RunView) => asks(run) && run.waiting[0]?.since !== parked.waiting[0]?.since;
  const again = await app.until(workspace, id, isNew);
  await deploy(workspace, files('budget: 5\n'));
  expect((await approve(again.waiting[0]?.gate)).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
});

test('a month’s row that does not count what was used is set right, and one that nobody asks about any more is forgotten', async () => {
  const workspace = await app.workspace(tree('budget: 5\n'));
  await app.ended(workspace, await app.start(workspace, 'small'));
  const spent = await spentBy(workspace);
  const [pool] = await poolOf(workspace);
  expect(pool).toMatchObject({ nano: spent, held: 0n });
  await app.deps.db.query('UPDATE spent SET nano = 7, held = 9 WHERE key = $1', [pool?.key]);
  expect(await examine({ deps: app.deps, root: null })).toMatchObject([
    { says: expect.stringContaining('9 nano-dollars held') },
  ]);
  const old = pool?.key.replace(/\d{4}-\d{2}$/, '2020-01');
  await app.deps.db.query('INSERT INTO spent (key, nano) VALUES ($1, 5)', [old]);
  await correctMonths(app.deps);
  expect(await poolOf(workspace)).toEqual([{ key: pool?.key, nano: spent, held: 0n }]);
});

test('security 31: what was in flight in a workspace that is deleted counts for the account, and holds nothing of its month', async () => {
  await app.deps.db.query('UPDATE tenant SET budget_nano = 900000000000 WHERE id = $1', [app.tenant]);
  try {
    const workspace = await app.workspace(tree('budget: 5\n', '## Work @worker\n\nLATE', 'budget: 1\n'));
    const before = provider.calls.length;
    await app.start(workspace, 'f');
    await expect.poll(() => provider.calls.length).toBe(before + 1);
    const [month] = await app.deps.db.query<{ held: bigint }>(
      `SELECT held FROM spent WHERE key LIKE 'month/account/%'`,
    );
    expect(month?.held).toBeGreaterThan(0n);
    const deleted = await app.delete(`/api/workspaces/${workspace}?force=true`);
    expect(deleted.status).toBe(200);
    const rows = await app.deps.db.query<{ held: bigint; nano: bigint; used: bigint }>(
      `SELECT held, nano, (SELECT sum(nano)::bigint FROM usage) AS used FROM spent WHERE key LIKE 'month/account/%'`,
    );
    expect(rows.map(({ held, nano, used }) => [held, nano === used])).toEqual([[0n, true]]);
    expect(await app.deps.db.query('SELECT 1 FROM hold')).toEqual([]);
  } finally {
    await app.deps.db.query('UPDATE tenant SET budget_nano = NULL WHERE id = $1', [app.tenant]);
  }
});

test('a month begins with what was used before it had a budget', async () => {
  const workspace = await app.workspace(tree(''));
  await app.ended(workspace, await app.start(workspace, 'small'));
  expect(await poolOf(workspace)).toEqual([]);
  await deploy(workspace, tree('budget: 0.0001\n'));
  const refused = await app.post(`/api/workspaces/${workspace}/flows/small/run`, {});
  expect(refused.status).toBe(402);
  expect((await bodyOf(refused)).spentUsd).toBeCloseTo(Number(await spentBy(workspace)) / 1e9, 9);
});
