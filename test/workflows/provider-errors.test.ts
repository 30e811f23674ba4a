import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { createSemaphore } from '../../src/shared/semaphore.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeCall, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { breaksOff, PROVIDER_ROWS, type ProviderRow, withDate } from '../support/provider-rows.js';
import { noModels } from '../support/workspace-app.js';

/** Each row has two runs: on its model alone, and on an alias of its model and one that always answers. */
const ROWS = PROVIDER_ROWS.map((row, n) => ({ ...withDate(row), n }));
const VARIANTS = ['alone', 'both'] as const;

interface Outcome {
  readonly run: RunView;
  readonly events: readonly { readonly kind: string; readonly [key: string]: unknown }[];
}

let app: EngineApp;
let provider: FakeProvider;
let folder: string;
const outcomes = new Map<string, Outcome>();
const times = new Map<string, number[]>();

const alias = (n: number, variant: string) => `row${n}-${variant}`;
const asked = (name: string) => provider.calls.filter((call) => aliasOf(call) === name);
const aliasOf = ({ path }: FakeCall) => path.split('/')[2] ?? '';

beforeAll(async () => {
  provider = await startFakeProvider((call) => {
    const name = aliasOf(call);
    const at = times.get(name) ?? [];
    times.set(name, [...at, Date.now()]);
    if (name.endsWith('-second')) return { text: 'from the second' };
    return ROWS[Number(/\d+/.exec(name)?.[0])]?.answer(at.length + 1) ?? {};
  });
  const gone = await startFakeProvider();
  await gone.close();
  folder = mkdtempSync(join(tmpdir(), 'providers-'));
  const entry = (name: string, row?: ProviderRow) => ({
    provider: 'openai-compatible',
    // An address of its own each: what one row breaks must not open the circuit of another.
    baseUrl: `${row?.nobody ? gone.url : provider.url}/${name}`,
    model: name,
    priceIn: 1,
    priceOut: 1,
    idleSeconds: 2,
  });
  const models = Object.fromEntries(
    ROWS.flatMap((row) => [
      ...VARIANTS.map((variant) => [alias(row.n, variant), entry(alias(row.n, variant), row)]),
      [alias(row.n, 'second'), entry(alias(row.n, 'second'))],
    ]),
  );
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ models }));
  app = await createEngineApp({ models: { ...noModels, waitMs: 0, file: join(folder, 'models.json') } });
  const slots = createSemaphore({ permits: 8 });
  await Promise.all(ROWS.flatMap(({ n }) => VARIANTS.map((variant) => slots.run(() => play(n, variant)))));
}, 900_000);
afterAll(async () => {
  await provider.close();
  await rm(folder, { recursive: true, force: true });
});

async function play(n: number, variant: (typeof VARIANTS)[number]): Promise<void> {
  const names = variant === 'alone' ? [alias(n, 'alone')] : [alias(n, 'both'), alias(n, 'second')];
  const workspace = await app.workspace({
    'AGENTS.md': `---\nmodels: { default: [${names.join(', ')}] }\n---\n\nBe brief.\n`,
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow('## One @worker\n\nDo it.'),
  });
  const id = await app.start(workspace, 'one');
  const run = await app.until(workspace, id, (view) => view.finishedAt !== null, 300_000);
  const page = await app.get(`/api/workspaces/${workspace}/runs/${id}/events?limit=100`);
  const { events } = (await page.json()) as Pick<Outcome, 'events'>;
  outcomes.set(`${n} ${variant}`, { run, events });
}

function outcome(n: number, variant: (typeof VARIANTS)[number]): Outcome {
  const found = outcomes.get(`${n} ${variant}`);
  if (!found) throw new Error(`row ${n} has no run`);
  return found;
}

const count = ({ events }: Outcome, kind: string) => events.filter((event) => event.kind === kind).length;

test.each(ROWS)('alone, $name: asked as often as it should be, then answered or failed with a sentence', (row) => {
  const name = alias(row.n, 'alone');
  const end = outcome(row.n, 'alone');
  expect([end.run.status, asked(name).length]).toEqual([
    row.error ? 'failed' : 'completed',
    row.nobody ? 0 : row.calls,
  ]);
  expect(count(end, 'model.waiting')).toBe(row.waits ?? 0);
  expect(count(end, 'model.fallback')).toBe(0);
  const [first = 0, second = 0] = times.get(name) ?? [];
  expect(second - first).toBeGreaterThanOrEqual(row.gapMs ?? Number.NEGATIVE_INFINITY);
  if (row.secondCall) expect(asked(name)[1]?.prompt).toMatch(row.secondCall);
  if (!row.error) return;
  expect(end.run.error).toMatch(row.error);
  expect(end.events.find((event) => event.kind === 'step.failed')).toMatchObject({ class: 'model' });
});

test.each(ROWS)('with a second model, $name: it takes over exactly when another model may do better', (row) => {
  const end = outcome(row.n, 'both');
  const [first, second] = [alias(row.n, 'both'), alias(row.n, 'second')];
  expect([asked(first).length, asked(second).length, count(end, 'model.fallback')]).toEqual([
    row.nobody ? 0 : (row.first ?? row.calls),
    row.takesOver ? 1 : 0,
    row.takesOver ? 1 : 0,
  ]);
  expect(count(end, 'model.waiting')).toBe(0);
  if (row.error && !row.takesOver) {
    expect(end.run.error).toMatch(row.error);
    return;
  }
  expect(end.run.status).toBe('completed');
  // Both are `default` to people; which of them answered is in the trace, the usage and the cost.
  const real = `openai-compatible/${row.takesOver ? second : first}`;
  const told = end.events.findLast((event) => event.kind === 'model.finished');
  expect(told).toMatchObject({ served: real, via: row.takesOver ? second : first });
  expect(end.run.steps[0]?.trace.some((line) => line.text.includes(`(${real}) answered in`))).toBe(true);
  // An answer that broke off is paid for too.
  const paid = breaksOff(row) && row.takesOver ? [`openai-compatible/${first}`, real] : [real];
  expect(end.run.usage.map(({ model }) => model)).toEqual(paid);
  expect(end.run.usage.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)).toBeCloseTo(end.run.costUsd, 9);
});

test.each(ROWS.filter((row) => !row.error))(
  '$name: the usage of an answer is positive, and marked when it is reckoned',
  (row) => {
    const [use] = outcome(row.n, 'alone').run.usage;
    expect(use?.estimated).toBe(row.estimated ?? breaksOff(row));
    expect(use?.tokens.input).toBeGreaterThan(0);
    expect(use?.tokens.input).toBeLessThan(100_000);
    expect(use?.tokens.output).toBeGreaterThan(0);
    expect(use?.costUsd).toBeGreaterThan(0);
  },
);
