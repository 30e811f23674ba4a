import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Crew, startCrew } from '../support/crew.js';
import { audit } from '../support/doctor.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { FIRE, fireAnswers, startFireProvider } from '../support/fire-flow.js';

const TIMEOUT = { timeout: 400_000 };
const RUNS = 40;
const CROWD = 300;
const PAUSE_MS = 8_000;

let provider: FakeProvider;
let crew: Crew;
beforeAll(async () => {
  provider = await startFireProvider(120);
  crew = await startCrew(provider);
});
afterAll(() => crew.close());

/** In a workspace of their own, at once. */
async function startAll(flow: string, count: number): Promise<string[]> {
  const workspace = await crew.api.workspace(FIRE);
  return Promise.all(Array.from({ length: count }, () => crew.api.start(workspace, flow)));
}

async function untilEnded(ids: readonly string[], timeout: number): Promise<void> {
  const live = async () => {
    const rows = await crew.api.db.query('SELECT id FROM run WHERE id = ANY($1) AND finished_at IS NULL', [ids]);
    return rows.length;
  };
  await expect.poll(live, { timeout, interval: 100 }).toBe(0);
}

/** The calls that each worker makes now, the worker with the most first. */
async function callsInFlight(ids: readonly string[]): Promise<{ pid: number; count: number }[]> {
  return crew.api.db.query(
    `SELECT w.pid, count(*)::int AS count FROM call c JOIN worker_seen w ON c.result ->> 'worker' = w.id
      WHERE c.run_id = ANY($1) AND c.state = 'started' GROUP BY w.pid ORDER BY 2 DESC`,
    [ids],
  );
}

/** Every fault that the doctor finds in these runs. */
async function faultsOf(ids: readonly string[]): Promise<string[]> {
  const calls = provider.byKey();
  const faults: string[] = [];
  for (const runId of ids)
    faults.push(
      ...(await audit({ db: crew.api.db, dataDir: crew.api.dataDir, temporal: crew.temporal, runId, calls })),
    );
  return faults;
}

test(
  `security 4: ${RUNS} runs complete on two workers of which one is paused for 8 s and one is killed; nothing is written by a worker that was overtaken`,
  TIMEOUT,
  async () => {
    const [one, other] = await Promise.all([crew.startWorker(), crew.startWorker()]);
    const ids = await startAll('load', RUNS);
    await expect.poll(() => provider.calls.length, { interval: 10 }).toBeGreaterThan(RUNS);
    // One may have most of the runs. It is killed in calls, so that something is cut.
    let inFlight: Awaited<ReturnType<typeof callsInFlight>> = [];
    const most = async () => {
      inFlight = await callsInFlight(ids);
      return inFlight[0]?.count ?? 0;
    };
    await expect.poll(most, { interval: 10 }).toBeGreaterThan(2);
    const [killed, paused] = inFlight[0]?.pid === one.pid ? [one, other] : [other, one];
    process.kill(paused.pid, 'SIGSTOP');
    const pausedAt = Date.now();
    await killed.end('SIGKILL');
    const next = await crew.startWorker();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, pausedAt + PAUSE_MS - Date.now())));
    process.kill(paused.pid, 'SIGCONT');
    await untilEnded(ids, 240_000);
    expect(await faultsOf(ids)).toEqual([]);
    // Otherwise nothing was overtaken, and this test has proven nothing.
    const [cut] = await crew.api.db.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM call WHERE run_id = ANY($1) AND (starts > 1 OR state = 'interrupted')`,
      [ids],
    );
    expect(cut?.count).toBeGreaterThan(0);
    await Promise.all([paused.end('SIGTERM'), next.end('SIGTERM')]);
  },
);

test(`${CROWD} runs of three steps started at once all complete, each call made once`, TIMEOUT, async () => {
  provider.respond(fireAnswers(0));
  const workers = await Promise.all([crew.startWorker(), crew.startWorker()]);
  const began = Date.now();
  const ids = await startAll('three', CROWD);
  const accepted = Date.now() - began;
  await untilEnded(ids, 240_000);
  console.log(`${CROWD} runs: accepted after ${accepted} ms, completed after ${Date.now() - began} ms`);
  const states = await crew.api.db.query<{ status: string; error: string | null; count: number }>(
    'SELECT status, error, count(*)::int AS count FROM run WHERE id = ANY($1) GROUP BY status, error',
    [ids],
  );
  expect(states).toEqual([{ status: 'completed', error: null, count: CROWD }]);
  const ours = new Set(ids);
  const calls = [...provider.byKey()].filter(([key]) => ours.has(key.slice(0, key.indexOf('/'))));
  expect(calls).toHaveLength(3 * CROWD);
  expect(calls.filter(([, count]) => count !== 1)).toEqual([]);
  expect(await faultsOf(ids.slice(0, 20))).toEqual([]);
  await Promise.all(workers.map((worker) => worker.end('SIGTERM')));
});
