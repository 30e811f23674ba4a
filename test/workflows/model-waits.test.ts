import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { noModels } from '../support/workspace-app.js';

const TOO_LONG = 'the step took longer than its timeout';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
  const single = { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 };
  app = await createEngineApp({ models: { ...noModels, single } });
});
afterAll(() => provider.close());

const WORKER = { 'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n' };
const NAMES = 'input: { names?(array): string }\n';
const failure: FakeAnswer = { status: 500, body: '{"error":{"message":"the server is restarting"}}' };
const busy: FakeAnswer = { status: 429, headers: { 'retry-after': '3600' }, body: '{"error":{"message":"busy"}}' };

/** Answers by the step that asks and how often it has asked, from 1. */
function play(answer: (step: string, n: number) => FakeAnswer | undefined): void {
  const counts = new Map<string, number>();
  provider.respond(({ idempotencyKey }) => {
    const step = (idempotencyKey ?? '').split('/')[1] ?? '';
    const n = (counts.get(step) ?? 0) + 1;
    counts.set(step, n);
    return answer(step, n) ?? { text: `${step} is done` };
  });
}

async function start(files: Readonly<Record<string, string>>, body?: object) {
  const workspace = await app.workspace({ ...WORKER, ...files });
  return { workspace, id: await app.start(workspace, 'outer', body) };
}

const asked = (id: string, step: string) =>
  provider.calls.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(`${id}/${step}/`)).length;

test('a failure that outlasts the tries in place is waited out, and nothing recorded is paid for again', async () => {
  play((step, n) => (step === 'two' && n <= 4 ? failure : undefined));
  const { workspace, id } = await start({ 'flows/outer.md': flow('## One @worker\n\nGo.\n\n## Two @worker\n\nGo.') });
  const waiting = await app.until(workspace, id, (run) => run.waiting.length > 0);
  expect(waiting).toMatchObject({
    status: 'running',
    waiting: [{ step: 2, id: 'two', title: 'Two', kind: 'model', reason: expect.stringContaining('answered 500') }],
  });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({
    status: 'completed',
    waiting: [],
    steps: [{ result: 'one is done' }, { result: 'two is done', attempts: 1 }],
  });
  expect([asked(id, 'one'), asked(id, 'two')]).toEqual([1, 5]);
  const told = run.steps[1]?.trace.filter(({ kind }) => kind === 'model.waiting');
  expect(told).toMatchObject([{ waits: 1, text: expect.stringContaining('asks again at') }]);
  expect(run.usage).toMatchObject([{ calls: 2, estimated: false }]);
  const [held] = await app.deps.db.query('SELECT reserved_nano::int AS nano FROM run WHERE id = $1', [id]);
  expect(held).toEqual({ nano: 0 });
});

test('in an each only the item that waits is shown to wait, with its number', async () => {
  play((step, n) => (step === 'all' && n === 1 ? { ...failure, headers: { 'retry-after': '12' } } : undefined));
  const { workspace, id } = await start(
    { 'flows/outer.md': flow('## All @worker\n\n- each: input.names\n- parallel: 1\n\nGo.', NAMES) },
    { task: { names: ['Ada', 'Bo'] } },
  );
  const waiting = await app.until(workspace, id, (run) => run.waiting.length > 0);
  expect(waiting.waiting).toMatchObject([{ step: 1, kind: 'model', item: 1 }]);
  expect(await app.ended(workspace, id)).toMatchObject({
    status: 'completed',
    steps: [{ data: ['all is done', 'all is done'] }],
  });
});

test.each([
  ['a step', '## One @worker\n\n- timeout: 4s\n- on_fail: continue\n\nGo.', WORKER],
  [
    'an agent',
    '## One @worker\n\n- on_fail: continue\n\nGo.',
    { 'agents/worker.md': '---\ndescription: Works.\ntimeout: 4s\n---\n\nYou work.\n' },
  ],
  ['a step with an item', '## One @worker\n\n- each: input.names\n- timeout: 4s\n- on_fail: continue\n\nGo.', WORKER],
])('the timeout of %s ends a wait for its provider', async (_of, step, files) => {
  play((id) => (id === 'one' ? busy : undefined));
  const { workspace, id } = await start(
    { ...files, 'flows/outer.md': flow(`${step}\n\n## After @worker\n\nGo.`, NAMES) },
    { task: { names: ['Ada'] } },
  );
  const run = await app.ended(workspace, id);
  expect(run.steps[1]?.result).toBe('after is done');
  const [one] = run.steps;
  const failed = one?.items?.[0] ?? one;
  expect(failed).toMatchObject({ status: 'failed', error: TOO_LONG });
  expect(one?.trace.find(({ kind }) => kind === 'step.failed')).toMatchObject({ class: 'timeout' });
  expect(asked(id, 'one')).toBe(1);
});

test('the timeout of a step ends the wait of its subflow for a provider, and of what runs under that', async () => {
  play((step) => (step === 'deep' ? busy : undefined));
  const { workspace, id } = await start({
    'flows/outer.md': flow(
      '## Call\n\n- subflow: middle\n- timeout: 5s\n- on_fail: continue\n\n## After @worker\n\nGo.',
    ),
    'flows/middle.md': flow('## Down\n\n- subflow: inner'),
    'flows/inner.md': flow('## Deep @worker\n\nGo.'),
  });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({
    status: 'completed',
    steps: [{ status: 'failed', error: TOO_LONG }, { result: 'after is done' }],
  });
});

test('a wait for a provider that is shorter than the timeout does not end the step', async () => {
  play((step, n) => (step === 'deep' && n === 1 ? { ...busy, headers: { 'retry-after': '11' } } : undefined));
  const { workspace, id } = await start({
    'flows/outer.md': flow('## Call\n\n- subflow: inner\n- timeout: 1h'),
    'flows/inner.md': flow('## Deep @worker\n\n- timeout: 1h\n\nGo.'),
  });
  expect(await app.ended(workspace, id)).toMatchObject({ status: 'completed', steps: [{ result: 'deep is done' }] });
  // The wait counts as time at work.
  const [child] = await app.deps.db.query<{ ms: number }>('SELECT active_ms::int AS ms FROM run WHERE parent_id = $1', [
    id,
  ]);
  expect(child?.ms).toBeGreaterThan(10_000);
});
