import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Deps } from '../../src/deps.js';
import { MOST_ALONE, MOST_IN_COMPANY } from '../../src/engine/agent/deaths.js';
import { evalWork } from '../../src/evals/index.js';
import { newId } from '../../src/shared/ids.js';
import type { EngineApp } from '../support/create-engine-app.js';
import { evalVerbs } from '../support/evals.js';
import type { FakeAnswer, FakeCall, FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';

const failure: FakeAnswer = { status: 500, body: '{"error":{"message":"the server is restarting"}}' };
const holds: FakeAnswer = { text: '{"verdicts":[{"n":1,"holds":true,"evidence":"seen"}]}' };
const hang: FakeAnswer = { delayMs: 60_000, ...holds };

/** A judge that hangs is not waited for when the worker shuts down. */
const BUILD = { shutdownGraceMs: 500 };

let app: EngineApp;
let provider: FakeProvider;
let evals: ReturnType<typeof evalVerbs>;
let judge: (n: number) => FakeAnswer = () => holds;
const judged: FakeCall[] = [];

beforeAll(async () => {
  ({ app, provider } = await createPlayedApp(
    (call) => {
      if (call.idempotencyKey?.split('/')[2] !== 'judge') return { text: 'A poem.' };
      judged.push(call);
      return judge(judged.length);
    },
    { build: BUILD },
  ));
  evals = evalVerbs(app);
});
afterAll(() => provider.close());
beforeEach(() => judged.splice(0));

async function begin() {
  const workspace = await app.workspace({
    'AGENTS.md': 'Be brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/g.md': flow('## Work @worker\n\nW.'),
    'evals/e.md':
      '---\ntarget: flows/g\ntrigger: manual\nbudget: 1\n---\n\n## One\n\n### Input\n\nWrite a poem.\n\n### Expect\n\n- It is a poem.\n',
  });
  const { evalRunId: id } = await evals.start(workspace, 'e');
  return { id, ended: () => evals.ended(workspace, 'e', id) };
}

interface Row {
  readonly held: bigint | null;
  readonly call: Readonly<Record<string, unknown>> | null;
}

async function rowOf(id: string): Promise<Row> {
  const [row] = await app.deps.db.query<Row>(
    'SELECT judge_held AS held, judge_call AS call FROM eval_attempt WHERE eval_run_id = $1',
    [id],
  );
  if (!row) throw new Error(`no attempt of ${id}`);
  return row;
}

async function heldBy(id: string): Promise<bigint | undefined> {
  const [row] = await app.deps.db.query<{ held: bigint }>(`SELECT held FROM spent WHERE key = 'eval/' || $1`, [id]);
  return row?.held;
}

test.each([
  ['500 longer than the tries in place take', failure, 4],
  ['429 with a time', { status: 429, headers: { 'retry-after': '11' }, body: '{"error":{"message":"busy"}}' }, 1],
] as const)('a judge whose provider answers %s is waited for and then judges', async (_what, answer, times) => {
  judge = (n) => (n <= times ? answer : holds);
  const { id, ended } = await begin();
  await expect.poll(async () => (await rowOf(id)).call?.waits).toBe(1);
  // Nothing is set aside meanwhile.
  expect([(await rowOf(id)).held, await heldBy(id)]).toEqual([null, 0n]);
  const run = await ended();
  expect(run).toMatchObject({ status: 'completed', ok: true, cases: [{ passed: true, error: null }] });
  expect(judged.length).toBe(times + 1);
  // A provider may answer a key again as it did before: each call has its own.
  expect(new Set(judged.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(times + 1);
  expect(await rowOf(id)).toEqual({ held: null, call: null });
});

test('a judge that has failed for as long as a call may wait is an error of its case', async () => {
  judge = () => hang;
  const { id, ended } = await begin();
  await expect.poll(() => judged.length).toBe(1);
  await app.stopWorker();
  judge = () => failure;
  const deps = { ...app.deps, models: { ...app.deps.models, waitMs: 0 } };
  expect(await evalWork.grade(deps, { evalRunId: id, k: 0 }, new AbortController().signal)).toBe('graded');
  await app.restartWorker(BUILD);
  expect((await ended()).cases).toMatchObject([
    { passed: false, error: expect.stringMatching(/^the judge failed: .*answered 500/) },
  ]);
});

type How = 'died' | 'alive' | 'together' | 'leaving';
/** Each worker begins five seconds after the one before it was last seen, as a service does that is started again. */
let lives = 0;

/** A worker that grades until its call is out, and then ends in that way. */
async function cut(evalRunId: string, how: How): Promise<void> {
  const workerId = newId();
  let isGone = false;
  const { db } = app.deps;
  const transaction: Deps['db']['transaction'] = (work) =>
    isGone ? Promise.reject(new Error('this worker is gone')) : db.transaction(work);
  const deps = { ...app.deps, workerId, db: { ...db, transaction } };
  const stop = new AbortController();
  const before = judged.length;
  const grading = evalWork.grade(deps, { evalRunId, k: 0 }, stop.signal).catch((error: unknown) => error);
  await expect.poll(() => judged.length).toBe(before + 1);
  isGone = how !== 'leaving';
  stop.abort(new Error('the worker ends'));
  await grading;
  lives += 1;
  for (const id of how === 'together' ? [workerId, newId()] : [workerId]) {
    await db.query(
      `INSERT INTO worker_seen (id, host, pid, version, sandbox, started_at, seen_at)
        SELECT $1, 'h', 1, 'v', 'none', at - interval '1 s', CASE WHEN $3 THEN now() ELSE at END
          FROM (SELECT now() - interval '1 day' + $2 * interval '6 s' AS at) beat`,
      [id, lives, how === 'alive'],
    );
  }
}

async function hanging() {
  judge = () => hang;
  const begun = await begin();
  await expect.poll(() => judged.length).toBe(1);
  await app.stopWorker();
  return begun;
}

test('a judge whose workers left, lived on or ended with others nine times is asked again: no death is counted', async () => {
  const { id, ended } = await hanging();
  // The worker that was told to end gave its call up, at what it had set aside.
  expect(await rowOf(id)).toEqual({ held: null, call: { number: 0 } });
  expect(await heldBy(id)).toBe(0n);
  for (const how of ['leaving', 'alive', 'together'] as const) {
    for (let n = 1; n <= 3; n += 1) await cut(id, how);
  }
  judge = () => holds;
  await app.restartWorker(BUILD);
  expect(await ended()).toMatchObject({ status: 'completed', ok: true });
  expect(await heldBy(id)).toBe(0n);
  const [lost] = await app.deps.db.query(
    `SELECT count(*)::int AS count FROM usage WHERE run_id = $1 AND meter = 'judge' AND source = 'reserve'`,
    [id],
  );
  expect(lost).toEqual({ count: 10 });
});

test('a judge’s call that its worker dies of is made on its own, then given up', async () => {
  const { id, ended } = await hanging();
  for (let n = 1; n <= MOST_IN_COMPANY + MOST_ALONE; n += 1) {
    await cut(id, 'died');
    expect((await rowOf(id)).call?.alone ?? false).toBe(n > MOST_IN_COMPANY);
  }
  judge = () => holds;
  await app.restartWorker(BUILD);
  const run = await ended();
  expect(run.cases[0]).toMatchObject({
    passed: false,
    error:
      'the judge failed: the worker ended or was blocked 7 times during one call of the judge, so the call is not made again: fix its cause, then run the eval again',
  });
  expect(await heldBy(id)).toBe(0n);
});

test('a judge’s call under suspicion waits for its turn without a worker', async () => {
  judge = () => hang;
  const [one, two] = [await begin(), await begin()];
  await expect.poll(() => judged.length).toBe(2);
  await app.stopWorker();
  for (const { id } of [one, two]) for (let n = 1; n <= MOST_IN_COMPANY; n += 1) await cut(id, 'died');
  const before = judged.length;
  const stop = new AbortController();
  const grading = evalWork.grade(app.deps, { evalRunId: one.id, k: 0 }, stop.signal).catch((error: unknown) => error);
  await expect.poll(() => judged.length).toBe(before + 1);
  await expect(evalWork.grade(app.deps, { evalRunId: two.id, k: 0 }, new AbortController().signal)).rejects.toThrow(
    'calls that may end their worker are made one at a time',
  );
  expect(judged.length).toBe(before + 1);
  stop.abort(new Error('the worker ends'));
  await grading;
  judge = () => holds;
  await app.restartWorker(BUILD);
  expect([await one.ended(), await two.ended()]).toMatchObject([{ ok: true }, { ok: true }]);
});
