import { afterAll, beforeAll, expect, test } from 'vitest';
import { findingsOf } from '../support/doctor.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createServices, type DrivenService, driveRun } from '../support/service.js';
import { sharedServers } from '../support/shared-servers.js';

let provider: FakeProvider;
let services: Awaited<ReturnType<typeof createServices>>;
let servers: Awaited<ReturnType<typeof sharedServers>>;
/** How often each call was asked for: the second answer of each breaks off. */
const asked = new Map<string, number>();
beforeAll(async () => {
  provider = await startFakeProvider(({ body, idempotencyKey }) => {
    const key = idempotencyKey ?? '';
    const turn = Number(key.split('/')[5] ?? 0);
    const times = (asked.get(key) ?? 0) + 1;
    asked.set(key, times);
    const output = Math.min(1_000, Number(body.max_tokens ?? body.max_completion_tokens ?? 1_000));
    const usage = { input: 300, output };
    if (turn === 1 && times === 1) return { text: 'a word or two that break off', cutAfter: 3 };
    if (turn >= 3) return { text: 'done', usage };
    return { calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }], usage };
  });
  services = await createServices(provider);
  servers = await sharedServers();
});
afterAll(async () => {
  await services.close();
  await provider.close();
  await servers.drop();
});

const FILES = {
  'AGENTS.md': '---\ndescription: A workspace\nbudget: 100\n---\n\nBe brief.\n',
  'agents/worker.md': '---\nname: worker\ndescription: Works.\nbudget: 50\n---\n\nYou work.\n',
  'flows/money.md': flow(
    '## All @worker\n\n- each: run.tags\n- as: tag\n- parallel: 3\n- budget: 40\n\nWork on {{tag}}.\n\n## Call\n\n- subflow: inner',
    'budget: 0.12\non_budget: ask\n',
  ),
  'flows/inner.md': flow('## Inner @worker\n\nWork.'),
};

/** Every write that is about money: set aside, answered, broken off, parked on a person, decided. */
const POINTS = [
  { failpoint: 'model-started', nth: 2 },
  { failpoint: 'model-answered', nth: 3 },
  { failpoint: 'model-cut', nth: 1 },
  { failpoint: 'parked', nth: 1 },
  { failpoint: 'decision-committed', nth: 1 },
  { failpoint: 'model-started', nth: 3 },
  { failpoint: 'model-answered', nth: 1 },
];

test('security 31: killed at every write that is about money, what was spent adds up under every budget', {
  timeout: 400_000,
}, async () => {
  const dataDir = await services.folder();
  let workspace = '';
  let killed = 0;
  let id: string | null = null;
  const begin = (service: DrivenService) =>
    service.start(workspace, 'money', { tags: ['a', 'b', 'c'] }).catch(() => null);
  for (const { failpoint, nth } of POINTS) {
    const point = `${failpoint}*${nth}`;
    const env = { ...servers.env, SERVICE_FAILPOINT: point };
    const service = await services.startService({ dataDir, env }).catch(unlessKilled);
    if (service === null) {
      killed += 1;
      await servers.reportDeaths();
      continue;
    }
    if (workspace === '') workspace = await service.workspace(FILES);
    id ??= await begin(service);
    // A run that had nothing left to come by the point: a whole one does.
    if (id !== null && (await driveRun(service, { workspace, id })) !== 'died') {
      id = await begin(service);
      if (id !== null && (await driveRun(service, { workspace, id })) !== 'died')
        throw new Error(`a whole run never came by ${point}`);
    }
    await service.exited;
    await servers.reportDeaths();
    killed += 1;
  }
  const last = await services.startService({ dataDir, env: servers.env });
  const runs = await last.db.query<{ id: string }>('SELECT id FROM run WHERE parent_id IS NULL ORDER BY created_at');
  for (const run of runs) {
    const view = await driveRun(last, { workspace, id: run.id });
    expect(view).toMatchObject({ status: 'completed', error: null });
  }
  expect([killed, runs.length > 0]).toEqual([POINTS.length, true]);
  const [sums] = await last.db.query<{ over: number; cut: number; lost: number; raised: number; held: number }>(
    `SELECT (SELECT count(*) FROM run WHERE budget_nano < spent_nano)::int AS over,
      (SELECT count(*) FROM run_event WHERE type = 'model.cut')::int AS cut,
      (SELECT count(*) FROM usage WHERE source = 'reserve')::int AS lost,
      (SELECT count(*) FROM run WHERE budget_nano > 120000000)::int AS raised,
      (SELECT count(*) FROM hold)::int + (SELECT count(*) FROM spent WHERE held <> 0)::int AS held`,
  );
  expect(sums).toMatchObject({ over: 0, held: 0 });
  expect(sums?.cut).toBeGreaterThan(0);
  expect(sums?.lost).toBeGreaterThan(0);
  expect(sums?.raised).toBeGreaterThan(0);
  const months = await last.db.query<{ nano: bigint; used: bigint }>(
    `SELECT nano, (SELECT sum(nano)::bigint FROM usage) AS used FROM spent WHERE key LIKE 'month/%'`,
  );
  expect(months.map(({ nano, used }) => nano === used)).toEqual([true]);
  const installation = { db: last.db, dataDir, temporal: servers.temporal };
  expect(await findingsOf(installation, null)).toEqual([]);
});

/** The first words of a start that was cut short by a signal: what was left undone brought it to the point at once. */
function unlessKilled(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('exit null')) return null;
  throw error;
}
