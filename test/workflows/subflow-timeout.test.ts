import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { decideGates } from '../support/drive-gates.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { historiesOf, ownTemporal } from '../support/own-temporal.js';
import { noModels } from '../support/workspace-app.js';

/** Histories of 60 events are long. */
const LIMITS = { 'limit.historyCount.suggestContinueAsNew': 60 };

let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  temporal = await ownTemporal(LIMITS);
  provider = await startFakeProvider();
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  app = await createEngineApp({ models: { ...noModels, single }, temporal: temporal.at });
});
afterAll(async () => {
  await provider.close();
  await temporal.close();
});

const WORKER = { 'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n' };
const TOO_LONG = 'the step took longer than its timeout';
const late: FakeAnswer = { text: 'late', delayMs: 120_000 };

interface Child {
  readonly id: string;
  readonly status: string;
  readonly error: string | null;
  readonly spent: bigint;
  readonly reserved: bigint;
}

function play(answer: (step: string, run: string) => FakeAnswer | undefined): void {
  provider.respond(({ idempotencyKey }) => {
    const [run = '', step = ''] = (idempotencyKey ?? '').split('/');
    return answer(step, run) ?? { text: `${step} is done` };
  });
}

async function started(files: Readonly<Record<string, string>>, body?: object) {
  const workspace = await app.workspace({ ...WORKER, ...files });
  return { workspace, id: await app.start(workspace, 'outer', body) };
}

const childrenOf = (id: string) =>
  app.deps.db.query<Child>(
    `SELECT id, status, error, spent_nano AS spent, reserved_nano AS reserved FROM run WHERE parent_id = $1 ORDER BY created_at`,
    [id],
  );

async function childOf(workspace: string, id: string): Promise<string> {
  const run = await app.until(workspace, id, (view) => view.waiting.some(({ kind }) => kind === 'subflow'));
  return run.waiting.find(({ kind }) => kind === 'subflow')?.runId ?? '';
}

const OUTER = (options = '') => flow(`## Call\n\n- subflow: inner\n- timeout: 4s\n${options}\n## After @worker\n\nGo.`);
const INNER = flow('## Inner @worker\n\nGo.');

test('a subflow that is at work longer than its step may be is ended with its programs, and the step fails', async () => {
  play((step) => (step === 'inner' ? { calls: [{ name: 'Bash', args: { command: 'sleep 300' } }] } : undefined));
  const { workspace, id } = await started({
    'flows/outer.md': OUTER('- on_fail: continue\n'),
    'flows/inner.md': INNER,
  });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({
    status: 'completed',
    steps: [{ status: 'failed', error: TOO_LONG, attempts: 1 }, { result: 'after is done' }],
  });
  const [child] = await childrenOf(id);
  expect(child).toMatchObject({ status: 'failed', error: TOO_LONG });
  await expect.poll(() => app.deps.workflows.describeRun(child?.id ?? '')).toBe('closed');
  await expect
    .poll(() => app.deps.db.query('SELECT 1 FROM sandbox_process WHERE run_id = $1', [child?.id]))
    .toEqual([]);
  expect(await app.deps.db.query(`SELECT 1 FROM call WHERE run_id = $1 AND state = 'started'`, [child?.id])).toEqual(
    [],
  );
});

test('security 31: the call that the end of a subflow cuts counts at its reserve, in the child, its step and the run', async () => {
  play((step) => (step === 'inner' ? late : undefined));
  const files = {
    'flows/outer.md': OUTER('- on_fail: continue\n').replace('---\n\n##', 'budget: 1\n---\n\n##'),
    'flows/inner.md': INNER,
  };
  const { workspace, id } = await started(files);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ error: TOO_LONG }, {}] });
  const [child] = await childrenOf(id);
  expect(child?.reserved).toBe(0n);
  expect(child?.spent).toBeGreaterThan(0n);
  expect(run.steps[0]?.costUsd).toBeCloseTo(Number(child?.spent) / 1e9, 9);
  expect(run.costUsd).toBeGreaterThanOrEqual(run.steps[0]?.costUsd ?? Number.POSITIVE_INFINITY);
  const used = await app.deps.db.query('SELECT nano, estimated FROM usage WHERE run_id = $1', [child?.id]);
  expect(used).toEqual([{ nano: child?.spent, estimated: true }]);
});

test('security 31: a call that a stop cuts counts at its reserve too', async () => {
  play((step) => (step === 'one' ? late : undefined));
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow('## One @worker\n\nGo.', 'budget: 1\n') });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.steps[0]?.trace.some(({ kind }) => kind === 'model.started') ?? false);
  expect((await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`)).status).toBe(200);
  const run = await app.run(workspace, id);
  expect(run.stopped).toBe(true);
  expect(run.costUsd).toBeGreaterThan(0);
  expect(run.steps[0]?.costUsd).toBeCloseTo(run.costUsd, 9);
});

test('time that a subflow waits for a person is no time at work, however long it is', async () => {
  play(() => undefined);
  const inner = flow('## Draft @worker\n\nD.\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Send @worker\n\nS.');
  const { workspace, id } = await started({ 'flows/outer.md': OUTER(), 'flows/inner.md': inner });
  const child = await childOf(workspace, id);
  await app.until(workspace, child, (run) => run.status === 'awaiting-approval');
  // An hour at the gate.
  await app.deps.db.query(`UPDATE run SET active_at = active_at - interval '1 hour' WHERE id = $1`, [child]);
  await app.post(`/api/workspaces/${workspace}/runs/${child}/approve`, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null, steps: [{ result: 'send is done' }, {}] });
});

test('what a subflow has used up counts on after it waited', async () => {
  play((step) => (step === 'send' ? late : undefined));
  const inner = flow('## Gate\n\n- approve: human\n\nOK?\n\n## Send @worker\n\nS.');
  const { workspace, id } = await started({ 'flows/outer.md': OUTER().replace('4s', '1h'), 'flows/inner.md': inner });
  const child = await childOf(workspace, id);
  await app.until(workspace, child, (run) => run.status === 'awaiting-approval');
  await app.deps.db.query('UPDATE run SET active_ms = active_limit_ms - 500 WHERE id = $1', [child]);
  await app.post(`/api/workspaces/${workspace}/runs/${child}/approve`, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'failed', error: `Call: ${TOO_LONG}` });
});

test('`retry` on timeouts begins another child, with a clock of its own', async () => {
  let first = '';
  play((step, run) => {
    if (step !== 'inner') return undefined;
    first ||= run;
    return run === first ? late : undefined;
  });
  const files = { 'flows/outer.md': OUTER('- retry: { max: 2, on: [timeout] }\n'), 'flows/inner.md': INNER };
  const { workspace, id } = await started(files);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ attempts: 2, result: 'inner is done' }, {}] });
  expect((await childrenOf(id)).map(({ status }) => status)).toEqual(['failed', 'completed']);
});

test('a subflow that fails by itself is no timeout', async () => {
  play((step) => (step === 'inner' ? { status: 400, body: 'no' } : undefined));
  const files = { 'flows/outer.md': OUTER('- retry: { max: 2, on: [timeout] }\n'), 'flows/inner.md': INNER };
  const { workspace, id } = await started(files);
  const run = await app.ended(workspace, id);
  expect([run.status, run.steps[0]?.attempts]).toEqual(['failed', 1]);
  expect(run.error).toContain('the subflow failed');
});

test('the time of subflows within counts for the step above, branches that overlap once, and all of them end', async () => {
  play((step) => (step === 'left' || step === 'right' ? late : undefined));
  const files = {
    'flows/outer.md': OUTER('- on_fail: continue\n'),
    'flows/inner.md': flow('## Deeper\n\n- subflow: deepest\n- timeout: 1h'),
    'flows/deepest.md': flow('## Both\n\n### Left @worker\n\nL.\n\n### Right @worker\n\nR.'),
  };
  const { workspace, id } = await started(files);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ status: 'failed', error: TOO_LONG }, {}] });
  const runs = await app.deps.db.query<{ flow: string; error: string; active: bigint }>(
    'SELECT flow, error, active_ms AS active FROM run WHERE root_id = $1 AND id <> $1 ORDER BY flow',
    [id],
  );
  expect(runs.map(({ flow: name, error }) => [name, error])).toEqual([
    ['deepest', TOO_LONG],
    ['inner', TOO_LONG],
  ]);
  // Two branches at work for four seconds are four seconds: counted twice they would have ended the step after two.
  expect(Number(runs[1]?.active)).toBeGreaterThanOrEqual(4_000);
  expect(run.steps[0]?.durationMs).toBeGreaterThanOrEqual(4_000);
});

test('each item of a step with a subflow has a clock of its own', async () => {
  play((step) => (step === 'inner' ? { text: 'in time', delayMs: 2_000 } : undefined));
  const outer = flow(
    '## Call\n\n- each: input.names\n- subflow: inner\n- timeout: 5s',
    'input: { names(array): string }\n',
  );
  const { workspace, id } = await started(
    { 'flows/outer.md': outer, 'flows/inner.md': INNER },
    { task: { names: ['a', 'b', 'c'] } },
  );
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ data: ['in time', 'in time', 'in time'] }] });
});

test('the clock goes on in a new execution of the child', async () => {
  play((step) => (step === 'send' ? late : undefined));
  const loop =
    '## Draft @worker\n\nA.\n\n## Gate\n\n- approve: human\n- on_reject: draft\n- max_rounds: 30\n\nOK?\n\n## Send @worker\n\nS.';
  const { workspace, id } = await started({
    'flows/outer.md': OUTER().replace('4s', '1h'),
    'flows/inner.md': flow(loop),
  });
  const child = await childOf(workspace, id);
  const isFar = (run: RunView) => run.steps[1]?.round === 20 && run.waiting.length > 0;
  const last = await decideGates(app, { workspace, id: child, isFar }, (round) => (round < 20 ? 'reject' : null));
  expect((await historiesOf(temporal.client, child)).length).toBeGreaterThan(1);
  const [used] = await app.deps.db.query<{ ms: bigint }>('SELECT active_ms AS ms FROM run WHERE id = $1', [child]);
  expect(used?.ms).toBeGreaterThan(0n);
  await app.deps.db.query('UPDATE run SET active_ms = active_limit_ms - 500 WHERE id = $1', [child]);
  const decision = { decision: 'approve', ...last.waiting[0]?.gate };
  expect((await app.post(`/api/workspaces/${workspace}/runs/${child}/approve`, decision)).status).toBe(200);
  expect(await app.ended(workspace, id)).toMatchObject({ status: 'failed', error: `Call: ${TOO_LONG}` });
});
