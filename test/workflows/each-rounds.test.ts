import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  // Whether a small table is read whole is the planner's choice of the moment: rows read are counted without it.
  ({ app, provider } = await createPlayedApp(undefined, { postgresSettings: { enable_seqscan: 'off' } }));
});
afterAll(() => provider.close());

const WORKER = { 'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n' };
const NAMES = 'input: { names(array): string }\n';

/** Answers by the place that the call's key names. */
function play(answer: (at: { step: string; item: number; round: number; turn: number }) => string): void {
  provider.respond(({ idempotencyKey }) => {
    const [, step = '', item, round, , turn] = (idempotencyKey ?? '').split('/');
    return { text: answer({ step, item: Number(item), round: Number(round), turn: Number(turn) }) };
  });
}

const promptOf = (id: string, place: string): string =>
  provider.calls.find(({ idempotencyKey }) => idempotencyKey?.startsWith(`${id}/${place}/`))?.prompt ?? '';

test('items see what sent their step back and what each of them made before, and both rounds are kept', async () => {
  play(({ step, item, round }) => (step === 'greet' ? `round ${round} for ${item}` : 'sum'));
  const body =
    '## Greet @worker\n\n- each: input.names\n- parallel: 2\n\nGreet {{item}}.\n\n## Sign\n\n- approve: human\n- on_reject: greet\n- max_rounds: 1\n\nOK?';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body, NAMES) });
  const id = await app.start(workspace, 'f', { task: { names: ['Ada', 'Bo'] } });
  const at = `/api/workspaces/${workspace}/runs/${id}/approve`;
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  expect((await app.post(at, { decision: 'reject', note: 'much warmer' })).status).toBe(200);
  const { gate } = await app.until(
    workspace,
    id,
    (run) => run.status === 'awaiting-approval' && run.steps[0]?.round === 2,
  );
  expect((await app.post(at, { decision: 'approve', ...gate })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(run.steps[0]).toMatchObject({
    round: 2,
    data: ['round 2 for 1', 'round 2 for 2'],
    rounds: [{ round: 1, data: ['round 1 for 1', 'round 1 for 2'] }],
    items: [
      { round: 2, result: 'round 2 for 1' },
      { round: 2, result: 'round 2 for 2' },
    ],
  });
  for (const item of [1, 2]) {
    expect(promptOf(id, `greet/${item}/1`)).not.toContain('another round');
    const again = promptOf(id, `greet/${item}/2`);
    expect(again).toContain('much warmer');
    expect(again).toContain(`round 1 for ${item}`);
    expect(again).not.toContain(`round 1 for ${3 - item}`);
  }
  const rows = await app.deps.db.query(
    'SELECT item, round, result FROM step WHERE run_id = $1 AND item > 0 ORDER BY item, round',
    [id],
  );
  expect(rows).toEqual(
    [1, 2].flatMap((item) => [1, 2].map((round) => ({ item, round, result: `round ${round} for ${item}` }))),
  );
});

test('items in a branch of a group see what sent the group back', async () => {
  play(({ step, round }) => (step === 'judge' ? (round === 1 ? 'too cold' : 'good') : 'made'));
  const body =
    "## Both\n\n### Greet @worker\n\n- each: input.names\n\nGreet {{item}}.\n\n### Other @worker\n\nOther.\n\n## Judge @worker\n\n- until: self.result == 'good'\n- back_to: both\n- max_rounds: 1\n\nJudge.";
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body, NAMES) });
  const id = await app.start(workspace, 'f', { task: { names: ['Ada', 'Bo'] } });
  expect(await app.ended(workspace, id)).toMatchObject({ status: 'completed', error: null });
  for (const place of ['greet/1/2', 'greet/2/2', 'other/0/2']) expect(promptOf(id, place)).toContain('too cold');
});

test('an item whose step went back waits and goes on in its own round', async () => {
  let failed = 0;
  provider.respond(({ idempotencyKey }) => {
    const [, step, , round, attempt] = (idempotencyKey ?? '').split('/');
    if (step !== 'fan' || (round === '2' && attempt === '2')) return { text: 'made' };
    failed += 1;
    return { status: 400, body: 'bad item' };
  });
  const body =
    '## Draft @worker\n\nD.\n\n## Fan @worker\n\n- each: input.names\n- retry: { max: 2, wait: 1s }\n- on_fail: draft\n- max_rounds: 1\n\nFor {{item}}.';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body, NAMES) });
  const run = await app.ended(workspace, await app.start(workspace, 'f', { task: { names: ['Ada'] } }));
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(run.steps[1]).toMatchObject({ round: 2, data: ['made'], items: [{ round: 2, attempts: 2 }] });
  expect(failed).toBe(3);
});

test('the list of an each is read once: what it is made of may change while its items are at work', async () => {
  const body =
    '## List @worker\n\n- output: json\n\nList.\n\n## Fan @worker\n\n- each: steps.list.data\n\nDo {{item}}.';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body) });
  let change: () => Promise<unknown> = async () => undefined;
  provider.respond(async ({ idempotencyKey }) => {
    const [, step, item] = (idempotencyKey ?? '').split('/');
    if (step === 'list') return { text: '["a", null, "c"]' };
    if (item === '1') await change();
    return { text: `did ${item}` };
  });
  const id = await app.start(workspace, 'f');
  change = () => app.deps.db.query(`UPDATE step SET data = '["x"]' WHERE run_id = $1 AND id = 'list'`, [id]);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(run.steps[1]?.data).toEqual(['did 1', 'did 2', 'did 3']);
  expect(promptOf(id, 'fan/3')).toContain('Do \\"c\\"');
});

test('an item of a run from before items were kept is read from the list as it is', async () => {
  const body = '## Fan @worker\n\n- each: input.names\n- retry: { max: 2, wait: 1s }\n\nDo {{item}}.';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body, NAMES) });
  let forget: () => Promise<unknown> = async () => undefined;
  provider.respond(async ({ idempotencyKey }) => {
    if (!idempotencyKey?.includes('/fan/2/1/1/')) return { text: 'done' };
    await forget();
    return { status: 400, body: 'no' };
  });
  const id = await app.start(workspace, 'f', { task: { names: ['Ada', 'Bo'] } });
  forget = () => app.deps.db.query('UPDATE lane SET item = NULL WHERE run_id = $1', [id]);
  expect(await app.ended(workspace, id)).toMatchObject({ status: 'completed', error: null });
  expect(promptOf(id, 'fan/2/1/2')).toContain('Do \\"Bo\\"');
});

test('an item costs the database the same, however many siblings it has', async () => {
  play(() => 'ok');
  const body = '## Fan @worker\n\n- each: input.names\n- parallel: 20\n\nDo {{item}}.';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body, NAMES) });
  const rowsRead = async (count: number): Promise<number> => {
    const before = await tuplesRead();
    const names = Array.from({ length: count }, (_, index) => `n${index}`);
    const id = await app.start(workspace, 'f', { task: { names } });
    // To look at the run reads its steps: the longer it takes, the more rows that would be.
    await expect.poll(() => hasEnded(id), { timeout: 240_000, interval: 250 }).toBe(true);
    const read = (await tuplesRead()) - before;
    expect((await app.run(workspace, id)).steps[0]?.data).toHaveLength(count);
    return read / count;
  };
  const [few, many] = [await rowsRead(40), await rowsRead(400)];
  expect(many).toBeLessThan(few + 100);
}, 600_000);

async function hasEnded(id: string): Promise<boolean | undefined> {
  const [row] = await app.deps.db.query<{ ended: boolean }>(
    'SELECT finished_at IS NOT NULL AS ended FROM run WHERE id = $1',
    [id],
  );
  return row?.ended;
}

/** Rows of lanes and steps that the database has read so far, once its counters stand still. */
async function tuplesRead(): Promise<number> {
  let last = -1;
  const look = async () => {
    const [row] = await app.deps.db.query<{ n: bigint }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS n FROM pg_stat_user_tables WHERE relname IN ('lane', 'step')`,
    );
    const same = Number(row?.n) === last;
    last = Number(row?.n);
    return same;
  };
  await expect.poll(look, { interval: 1_500 }).toBe(true);
  return last;
}
