import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createModels } from '../../src/models/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { createTestDeps } from '../support/create-test-app.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { type OpenStream, readStream } from '../support/read-stream.js';
import { silentLog } from '../support/silent-log.js';
import { noModels } from '../support/workspace-app.js';

const OPEN_MS = 10_500;
/** The endpoints; each test has its own, so that no circuit of one is that of another. */
const NAMES = ['broken', 'second', 'busy', 'down', 'mixed', 'small', 'stopped', 'refusing'];

let app: EngineApp;
let provider: FakeProvider;
let folder: string;
const answers = new Map<string, (n: number) => FakeAnswer>();
const asked = (name: string) => provider.calls.filter(({ path }) => path.split('/')[2] === name);

beforeAll(async () => {
  provider = await startFakeProvider((call) => {
    const name = call.path.split('/')[2] ?? '';
    return answers.get(name)?.(asked(name).length) ?? {};
  });
  folder = mkdtempSync(join(tmpdir(), 'providers-'));
  const file = join(folder, 'models.json');
  const entry = (name: string) => ({
    provider: name === 'busy' ? 'google' : 'openai-compatible',
    key: 'KEY',
    baseUrl: `${provider.url}/${name}`,
    model: name,
    priceIn: 1,
    priceOut: name === 'second' ? 20 : 10,
    contextTokens: name === 'small' ? 700 : 32_000,
  });
  writeFileSync(file, JSON.stringify({ models: Object.fromEntries(NAMES.map((name) => [name, entry(name)])) }));
  const { config } = await createTestDeps();
  const models = createModels({
    config: { ...config, models: { ...noModels, file, env: () => 'a-key' } },
    log: silentLog,
    clock: systemClock,
    openMs: OPEN_MS,
  });
  app = await createEngineApp({ deps: { models } });
});
afterAll(async () => {
  await provider.close();
  await rm(folder, { recursive: true, force: true });
});

async function begin(models: string, more: Readonly<Record<string, string>> = {}) {
  const workspace = await app.workspace({
    'AGENTS.md': `---\nmodels: { main: [${models}] }\n---\n\nBe brief.\n`,
    'agents/worker.md': '---\nname: worker\ndescription: Works.\nmodel: main\n---\n\nYou work.\n',
    'flows/one.md': flow('## One @worker\n\nDo it.'),
    ...more,
  });
  const id = await app.start(workspace, 'one');
  return { workspace, id, at: `/api/workspaces/${workspace}/runs/${id}` };
}

async function follow(at: string): Promise<OpenStream> {
  const stream = readStream((init) => app.get(`${at}/stream`, init));
  await expect.poll(() => stream.items.length).toBeGreaterThan(0);
  return stream;
}

const health = async () =>
  (await (await app.get('/api/healthz')).json()) as {
    circuits: { provider: string }[];
    models: { endpoint: string }[];
  };
const endpoint = (name: string) => `openai-compatible at ${provider.url}/${name}`;

test('what a model streamed before it broke off is taken back when the next model takes over', async () => {
  answers.set('broken', () => ({ text: 'half of an answer that is never whole', cutAfter: 6, eventDelayMs: 120 }));
  answers.set('second', () => ({ text: 'the whole of another answer', eventDelayMs: 60 }));
  const { workspace, id, at } = await begin('broken, second');
  const stream = await follow(at);
  await expect.poll(() => stream.text()).toContain('half of');
  const run = await app.ended(workspace, id);
  await expect.poll(() => stream.items.at(-1)?.event).toBe('end');
  expect(run.steps[0]?.result).toBe('the whole of another answer');
  expect(stream.text()).toBe('the whole of another answer');
  // One for each try that had told of its text.
  expect(stream.resets()).toBe(asked('broken').length);
  const finished = stream.items.find(({ event }) => event === 'model.finished');
  expect(finished?.data).toMatchObject({ model: 'main', served: 'openai-compatible/second', via: 'second' });
  // 10 tokens at $1 and 5 at $20 a million: at the price of the one that answered.
  const use = (name: string) => run.usage.find(({ model }) => model === `openai-compatible/${name}`);
  expect(use('second')).toMatchObject({ calls: 1, costUsd: 0.000_11, estimated: false });
  // What broke off is paid for too, under the model that broke off.
  expect(use('broken')).toMatchObject({ estimated: true });
  expect(run.usage.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)).toBeCloseTo(run.costUsd, 9);
});

test('what was streamed is taken back when the call is put off, and the answer then is the whole of it', async () => {
  // In Gemini's way, which tells the wait within the stream.
  const busy = {
    error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'busy', details: [{ retryDelay: '11s' }] },
  };
  const chunk = (text: string) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] });
  const events = [chunk('half '), chunk('of '), chunk('it '), busy].map((one) => `data: ${JSON.stringify(one)}\n\n`);
  answers.set('busy', (n) => (n === 1 ? { events, eventDelayMs: 150 } : { text: 'all of it', eventDelayMs: 60 }));
  const { workspace, id, at } = await begin('busy');
  const stream = await follow(at);
  await expect.poll(() => stream.text()).toContain('half');
  await expect.poll(() => stream.items.some(({ event }) => event === 'model.waiting')).toBe(true);
  await expect.poll(() => stream.text()).toBe('');
  expect(asked('busy')).toHaveLength(1);
  const run = await app.ended(workspace, id);
  await expect.poll(() => stream.items.at(-1)?.event).toBe('end');
  expect([run.status, stream.text(), stream.resets()]).toEqual(['completed', 'all of it', 1]);
});

test('a provider that is down is waited for until the bound, by a time in the journal, and the run shows it', async () => {
  answers.set('down', () => ({ status: 500, body: '{"error":{"message":"the secret prompt"}}' }));
  const { workspace, id } = await begin('down');
  const waits = async () => {
    const [row] = await app.deps.db.query<{ waits: number | null }>(
      `SELECT (result->>'waits')::int AS waits FROM call WHERE run_id = $1 AND state = 'interrupted'`,
      [id],
    );
    return row?.waits ?? 0;
  };
  const waiting = await app.until(workspace, id, (run) => run.waiting.length > 0);
  expect(waiting).toMatchObject({
    status: 'running',
    waiting: [{ step: 1, id: 'one', kind: 'model', reason: expect.stringContaining('answered 500') }],
    steps: [{ status: 'running' }],
  });
  expect(Date.parse(waiting.waiting[0]?.due ?? '')).toBeGreaterThan(Date.parse(waiting.waiting[0]?.since ?? ''));
  // The fifth failure opens the circuit, and the call is put off until its probe.
  await expect.poll(async () => (await health()).circuits.map((one) => one.provider)).toContain(endpoint('down'));
  expect((await health()).models.find((one) => one.endpoint === endpoint('down'))).toEqual({
    endpoint: endpoint('down'),
    open: true,
    since: expect.stringMatching(/^20/),
    lastError: 'answered 500',
  });
  await expect.poll(waits).toBeGreaterThan(1);
  // As if it had waited for the bound: the next advance reads the time of the first wait from the row.
  await app.deps.db.query(
    `UPDATE call SET result = result || '{"waits": 40, "waitsSince": 1}' WHERE run_id = $1 AND state = 'interrupted'`,
    [id],
  );
  const run = await app.ended(workspace, id);
  expect([run.status, run.waiting]).toEqual(['failed', []]);
  expect(run.error).toContain('given up after waiting 4');
  const failed = run.steps[0]?.trace.find(({ kind }) => kind === 'step.failed');
  expect(failed).toMatchObject({ class: 'model' });
});

test('an open circuit gives way to the next model at once, and closes when the endpoint answers again', async () => {
  answers.set('mixed', () => ({ status: 503, body: '{"error":{"message":"no"}}' }));
  answers.set('second', () => ({ text: 'from the second' }));
  const run = async () => {
    const { workspace, id } = await begin('mixed, second');
    return app.ended(workspace, id);
  };
  await run();
  await run();
  const before = asked('mixed').length;
  expect(before).toBe(5);
  const third = await run();
  expect([third.steps[0]?.result, asked('mixed').length]).toEqual(['from the second', before]);
  answers.set('mixed', () => ({ text: 'back again' }));
  const isOpen = async () => (await health()).circuits.some((one) => one.provider === endpoint('mixed'));
  expect(await isOpen()).toBe(true);
  const results = async () => (await run()).steps[0]?.result;
  await expect.poll(results, { interval: 1_000 }).toBe('back again');
  expect((await health()).models.map((one) => one.endpoint)).not.toContain(endpoint('mixed'));
});

test('a fallback whose context is smaller is compacted to its own, and named when that is not enough', async () => {
  answers.set('refusing', () => ({ status: 401, body: '{"error":{"message":"wrong key"}}' }));
  answers.set('small', () => ({ status: 413, body: '{"error":{"message":"too large"}}' }));
  const { workspace, id } = await begin('refusing, small');
  const run = await app.ended(workspace, id);
  expect(run.error).toContain('does not fit into the context of main (700 tokens)');
});

test('a run that is stopped within a stream hangs up on the provider, and asks nobody else', async () => {
  answers.set('stopped', () => ({ text: 'one two three four five six', hangAfter: 4, eventDelayMs: 120 }));
  const { workspace, id, at } = await begin('stopped, second');
  const stream = await follow(at);
  await expect.poll(() => stream.text()).toContain('one');
  const others = asked('second').length;
  expect((await app.post(`${at}/stop`, {})).status).toBeLessThan(300);
  const run = await app.ended(workspace, id);
  expect([run.status, run.stopped]).toEqual([run.status, true]);
  await expect.poll(() => asked('stopped')[0]?.hungUp()).toBe(true);
  expect([asked('stopped').length, asked('second').length]).toEqual([1, others]);
});
