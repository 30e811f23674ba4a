import { afterAll, beforeAll, expect, test } from 'vitest';
import { OverBudget } from '../../src/engine/errors.js';
import { closeRun } from '../../src/engine/index.js';
import { claimLane } from '../../src/engine/journal/claim.js';
import { LaneWriter } from '../../src/engine/journal/lane-writer.js';
import { supersedeLanes } from '../../src/engine/rows/supersede-lanes.js';
import { examine } from '../../src/observe/index.js';
import { newId } from '../../src/shared/ids.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';
import { fc, runs } from '../support/properties.js';
import { testDb } from '../support/test-db.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

interface Pool {
  readonly nano: bigint;
  readonly held: bigint;
  readonly holds: bigint;
  readonly used: bigint;
  readonly lost: bigint;
}

/** What the budget of that root counts, against what the rows of its tree say. */
async function poolOf(root: string): Promise<Pool> {
  const [pool] = await testDbOf(root).query<Pool>(
    `SELECT s.nano, s.held, (SELECT coalesce(sum(nano), 0)::bigint FROM hold WHERE key = s.key) AS holds,
      (SELECT coalesce(sum(u.nano), 0)::bigint FROM usage u JOIN run r ON r.id = u.run_id WHERE r.root_id = $1) AS used,
      (SELECT count(*) FROM usage u JOIN run r ON r.id = u.run_id WHERE r.root_id = $1 AND u.estimated) AS lost
      FROM spent s WHERE key = 'run/' || $1`,
    [root],
  );
  if (!pool) throw new Error(`no row counts the budget of ${root}`);
  return pool;
}

function stepPools(runs: readonly string[]) {
  return testDb().query<{ nano: bigint; held: bigint }>('SELECT nano, held FROM spent WHERE key = ANY($1)', [
    runs.map((id) => `run/${id}/step/s`),
  ]);
}

const ours = new Set<string>();
const testDbOf = (root: string) => (ours.has(root) ? testDb() : app.deps.db);

const LANES = ['main', 'main/a', 'main/b'];

/** A root of that budget and three runs under it, of three lanes each; no workflow knows of them. */
async function tree(cap: bigint): Promise<{ root: string; children: string[] }> {
  const root = newId();
  ours.add(root);
  const children = [newId(), newId(), newId()];
  for (const id of [root, ...children]) {
    await testDb().query(
      `INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, parent_id, trigger, tags, budget_nano)
        VALUES ($1, 't', 'w', 'f', 'p', 'r', $2, $3, '{}', '{}', $4)`,
      [id, root, id === root ? null : root, id === root ? cap : null],
    );
    for (const lane of LANES) await testDb().query('INSERT INTO lane (run_id, lane) VALUES ($1, $2)', [id, lane]);
  }
  await testDb().query(`INSERT INTO spent (key) VALUES ('run/' || $1::text)`, [root]);
  return { root, children };
}

/** One lane that makes calls, each of which sets aside, then uses at most that. Ends when the lane is taken from it. */
async function work(
  { root, cap, ends }: { root: string; cap: bigint; ends: boolean },
  runId: string,
  lane: string,
  calls: readonly Call[],
): Promise<number> {
  const claimed = await claimLane(testDb(), { runId, lane, turn: 1 }, 1);
  const { signal } = new AbortController();
  const writer = new LaneWriter(
    testDb(),
    { runId, lane, item: 0, signal, now: Date.now, onWritten: () => undefined, hide: <T>(value: T) => value },
    claimed,
  );
  // A step's cap that all lanes of the run share, and the root's: the lesser one holds.
  const step = `run/${runId}/step/s`;
  await testDb().query('INSERT INTO spent (key) VALUES ($1) ON CONFLICT DO NOTHING', [step]);
  const keys = lane === 'main' ? [`run/${root}`] : [step, `run/${root}`];
  writer.caps = keys.map((key) => ({ key, cap: String(key === step ? cap / 2n : cap) }));
  let refused = 0;
  for (const [turn, { reserve, used }] of calls.entries()) {
    const key = { step: 's', item: LANES.indexOf(lane), round: 1, attempt: 1, epoch: 0, turn, call: 0 };
    const call = { ...key, kind: 'model' as const, name: 'fake', acts: false };
    writer.batch.calls.push({ ...call, state: 'started', result: { reserve: String(reserve) } });
    writer.batch.reserve += BigInt(reserve);
    try {
      await writer.flush();
    } catch (error) {
      if (!(error instanceof OverBudget)) return refused;
      refused += 1;
      continue;
    }
    const cost = BigInt(Math.min(used, reserve));
    writer.batch.calls.push({ ...call, state: 'finished', result: { cost: String(cost) } });
    writer.batch.release += BigInt(reserve);
    writer.batch.spend += cost;
    const tokens = { tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
    const usage = { step: 's', meter: 'model' as const, model: 'fake', source: 'price', estimated: false, keys };
    writer.batch.usage.push({ ...usage, ...tokens, nano: String(cost) });
    // Half of the settled calls go out with the next call's start, as the engine sends them.
    if (turn % 2 === 0 || turn === calls.length - 1) {
      if (ends && lane === 'main' && turn === calls.length - 1) {
        writer.batch.end = { status: 'completed', error: null, summary: null };
      }
      try {
        await writer.flush();
      } catch {
        return refused;
      }
    }
  }
  return refused;
}

interface Call {
  readonly reserve: number;
  readonly used: number;
}

const amounts = fc.record({ reserve: fc.integer({ min: 1, max: 400 }), used: fc.integer({ min: 0, max: 400 }) });

test('security 31: calls of parallel runs under one budget never pass it, whoever ends in the midst of one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(amounts, { minLength: 1, maxLength: 6 }), { minLength: 9, maxLength: 9 }),
      fc.integer({ min: 300, max: 3_000 }),
      fc.constantFrom('nothing', 'close', 'supersede', 'end'),
      async (plans, most, blow) => {
        const cap = BigInt(most);
        const { root, children } = await tree(cap);
        const lanes = children.flatMap((runId) => LANES.map((lane) => ({ runId, lane })));
        let over = false;
        const look = async () => {
          const { nano, held } = await poolOf(root);
          over ||= nano + held > cap || nano < 0n || held < 0n;
          for (const step of await stepPools(children)) over ||= step.nano + step.held > cap / 2n || step.held < 0n;
        };
        const jobs = lanes.map(({ runId, lane }, at) =>
          work({ root, cap, ends: blow === 'end' }, runId, lane, plans[at] ?? []),
        );
        const blows = children.slice(0, 2).map((runId) => {
          if (blow === 'close') return closeRun(testDb(), runId, 'lost');
          return blow === 'supersede' ? supersedeLanes(testDb(), runId, ['main/a']) : undefined;
        });
        await Promise.all([...jobs, ...blows, look(), look()]);
        await look();
        for (const runId of children) await closeRun(testDb(), runId, 'the end');
        const pool = await poolOf(root);
        expect(over).toBe(false);
        expect({ held: pool.held, holds: pool.holds }).toEqual({ held: 0n, holds: 0n });
        expect(pool.nano).toBe(pool.used);
        expect(pool.nano <= cap).toBe(true);
        for (const step of await stepPools(children)) expect([step.held, step.nano <= cap / 2n]).toEqual([0n, true]);
        const [sum] = await testDb().query<{ spent: bigint; reserved: bigint }>(
          'SELECT sum(spent_nano)::bigint AS spent, sum(reserved_nano)::bigint AS reserved FROM run WHERE parent_id = $1',
          [root],
        );
        expect(sum).toEqual({ spent: pool.used, reserved: 0n });
      },
    ),
    runs(25),
  );
});

test('security 31: a call in flight when its run is closed is booked at what it set aside, never free', async () => {
  const { root, children } = await tree(1_000n);
  const [child = ''] = children;
  const claimed = await claimLane(testDb(), { runId: child, lane: 'main', turn: 1 }, 1);
  const { signal } = new AbortController();
  const writer = new LaneWriter(
    testDb(),
    {
      runId: child,
      lane: 'main',
      item: 0,
      signal,
      now: Date.now,
      onWritten: () => undefined,
      hide: <T>(value: T) => value,
    },
    claimed,
  );
  writer.caps = [{ key: `run/${root}`, cap: '1000' }];
  const key = { step: 's', item: 0, round: 1, attempt: 1, epoch: 0, turn: 0, call: 0 };
  writer.batch.calls.push({
    ...key,
    kind: 'model',
    name: 'm',
    acts: false,
    state: 'started',
    result: { reserve: '700' },
  });
  writer.batch.reserve = 700n;
  await writer.flush();
  expect(await poolOf(root)).toMatchObject({ nano: 0n, held: 700n });
  await closeRun(testDb(), child, 'lost');
  expect(await poolOf(root)).toEqual({ nano: 700n, held: 0n, holds: 0n, used: 700n, lost: 1n });
});

test('security 31: subflows that run side by side spend what their parent has left once, not once each', async () => {
  let n = 0;
  provider.respond(({ body }) => {
    n += 1;
    const output = Math.min(1_500, Number(body.max_tokens ?? body.max_completion_tokens));
    return { calls: [{ name: 'Glob', args: { pattern: `*${n}` } }], usage: { input: 300, output } };
  });
  const workspace = await app.workspace({
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/inner.md': flow('## Work @worker\n\nGo.'),
    'flows/f.md': flow(
      '## Both\n\n### One\n\n- subflow: inner\n- on_fail: continue\n\n### Two\n\n- subflow: inner\n- on_fail: continue',
      'budget: 0.15\n',
    ),
  });
  const id = await app.start(workspace, 'f');
  await app.ended(workspace, id);
  const pool = await poolOf(id);
  expect(pool).toMatchObject({ held: 0n, holds: 0n, nano: pool.used });
  expect(Number(pool.used)).toBeLessThanOrEqual(0.15e9);
  expect(Number(pool.used)).toBeGreaterThan(0.12e9);
  const errors = await app.deps.db.query<{ error: string }>('SELECT error FROM run WHERE parent_id = $1', [id]);
  expect(errors).toHaveLength(2);
  for (const { error } of errors) expect(error).toMatch(/the budget of the run.*is used up/);
});

test.each([
  [
    'a step',
    '- budget: 0.1\n- each: run.tags\n- as: tag\n- parallel: 4\n- on_fail: continue\n\nGo for {{tag}}.',
    '',
    'step/work',
  ],
  [
    'an agent',
    '- each: run.tags\n- as: tag\n- parallel: 4\n- on_fail: continue\n\nGo for {{tag}}.',
    'budget: 0.1\n',
    'agent/worker',
  ],
  [
    'a step with subflows',
    '- subflow: inner\n- budget: 0.1\n- each: run.tags\n- as: tag\n- parallel: 4\n- on_fail: continue',
    '',
    'step/work',
  ],
])('security 31: what goes on at once under the budget of %s never passes it', async (_of, step, agent, key) => {
  let n = 0;
  provider.respond(({ body }) => {
    n += 1;
    const output = Math.min(1_500, Number(body.max_tokens ?? body.max_completion_tokens));
    return { calls: [{ name: 'Glob', args: { pattern: `*${n}` } }], usage: { input: 300, output }, delayMs: 20 };
  });
  const doer = step.includes('subflow') ? '' : ' @worker';
  const workspace = await app.workspace({
    'agents/worker.md': `---\nname: worker\ndescription: Works.\n${agent}---\n\nYou work.\n`,
    'flows/inner.md': flow('## Inner @worker\n\nGo.'),
    'flows/f.md': flow(`## Work${doer}\n\n${step}`),
  });
  const id = await app.start(workspace, 'f', { tags: ['a', 'b', 'c', 'd'] });
  const run = await app.ended(workspace, id);
  expect(run.status).toBe('completed');
  expect(run.costUsd).toBeLessThanOrEqual(0.1);
  expect(run.costUsd).toBeGreaterThan(0.08);
  const [pool] = await app.deps.db.query<{ nano: bigint; held: bigint }>(
    'SELECT nano, held FROM spent WHERE key = $1',
    [`run/${id}/${key}`],
  );
  expect(pool).toEqual({ nano: BigInt(Math.round(run.costUsd * 1e9)), held: 0n });
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('security 31: an answer that breaks off counts by an estimate, is told so, and leaves room for its repeat only', async () => {
  provider.respond(({ n }) =>
    n % 2 === 1
      ? { text: 'one two three four five six seven', cutAfter: 4 }
      : { text: 'whole', usage: { input: 300, output: 5 } },
  );
  if (provider.calls.length % 2 === 1) await fetch(`${provider.url}/nowhere`, { method: 'POST', body: '{}' });
  const workspace = await app.workspace({
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/f.md': flow('## Work @worker\n\nGo.', 'budget: 0.2\n'),
  });
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect([run.error, run.steps[0]?.result]).toEqual([null, 'whole']);
  const rows = await app.deps.db.query<{ nano: bigint; estimated: boolean; input: number; output: number }>(
    'SELECT nano, estimated, tokens_in AS input, tokens_out AS output FROM usage WHERE run_id = $1 ORDER BY id',
    [id],
  );
  expect(rows.map(({ estimated }) => estimated)).toEqual([true, false]);
  expect(rows[0]?.input).toBeGreaterThan(50);
  expect(rows[0]?.output).toBeGreaterThan(1);
  expect(rows[0]?.nano).toBe(BigInt((rows[0]?.input ?? 0) * 1_000 + (rows[0]?.output ?? 0) * 10_000));
  expect(run.costUsd).toBeCloseTo(Number((rows[0]?.nano ?? 0n) + (rows[1]?.nano ?? 0n)) / 1e9, 9);
  expect(run.steps[0]?.trace.map((line) => line.text).join('\n')).toMatch(/broke off: .*by an estimate/);
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});

test('security 31: a call that is lost counts at what it may have cost, though nothing caps it', async () => {
  provider.respond(() => ({ text: 'late', delayMs: 60_000 }));
  const before = provider.calls.length;
  const workspace = await app.workspace({
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/f.md': flow('## Work @worker\n\nGo.'),
  });
  const id = await app.start(workspace, 'f');
  await expect.poll(() => provider.calls.length).toBe(before + 1);
  await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`, {});
  const run = await app.ended(workspace, id);
  // 8,192 tokens of output at 10 USD a million, and the input.
  expect(run.costUsd).toBeGreaterThan(0.08);
  expect(run.budgetUsd).toBeUndefined();
  expect(await examine({ deps: app.deps, root: id })).toEqual([]);
});
