import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advanceLane, closeRun } from '../../src/engine/index.js';
import { DatabaseUnavailable, type Db } from '../../src/platform/db/index.js';
import { streamRun } from '../../src/runs/index.js';
import { Refusal } from '../../src/shared/refusal.js';
import type { Caller } from '../../src/shared/roles.js';
import { attemptOf } from '../support/attempt.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { noModels } from '../support/workspace-app.js';

let app: EngineApp;
let idle: EngineApp;
let provider: FakeProvider;
/** Names of statements whose next answer is lost after they were carried out. */
const lost: string[] = [];
const flaky = (db: Db): Db => ({
  ...db,
  async query(query, values) {
    const rows = await db.query(query, values);
    const at = typeof query === 'string' ? -1 : lost.indexOf(query.name ?? '');
    if (at < 0) return rows as never;
    lost.splice(at, 1);
    throw new DatabaseUnavailable(new Error('Connection terminated unexpectedly'));
  },
});

beforeAll(async () => {
  provider = await startFakeProvider();
  const models = {
    ...noModels,
    single: { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 },
  };
  app = await createEngineApp({ models, wrapDb: flaky });
  idle = await createEngineApp({ models, worker: false });
});
afterAll(() => provider.close());

const agent = (frontmatter = '') => ({
  'agents/worker.md': `---\nname: worker\ndescription: Works.\n${frontmatter}---\n\nYou work.\n`,
});

/** Answers in order; the last one repeats. */
function play(...answers: readonly FakeAnswer[]): void {
  let at = 0;
  provider.respond(() => answers[Math.min(at++, answers.length - 1)] ?? {});
}

const caller = (): Caller => ({
  tenant: app.tenant,
  role: 'admin',
  workspaces: null,
  actor: { kind: 'person', id: app.owner.id, label: app.owner.email },
  person: app.owner,
  signedIn: true,
  address: null,
});

const ask: FakeAnswer = { calls: [{ name: 'ask_human', args: { question: 'Which?' } }] };
const asker = (frontmatter = '') => agent(`tools: [ask_human, Bash, Read, Write]\n${frontmatter}`);

async function started(files: Record<string, string>, name: string, body: object = {}, on = app) {
  const workspace = await on.workspace(files);
  const id = await on.start(workspace, name, body);
  return { workspace, id, at: `/api/workspaces/${workspace}/runs/${id}` };
}

test('time at a gate on a tool call is not time at work: a step with a timeout goes on after a long wait', async () => {
  play(ask, { text: 'decided' });
  const { workspace, id, at } = await started(
    { ...asker('timeout: 30s\n'), 'flows/f.md': flow('## One @worker\n\nGo.') },
    'f',
  );
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await app.deps.db.query(`UPDATE park SET opened_at = opened_at - interval '1 hour' WHERE run_id = $1`, [id]);
  await app.deps.db.query(
    `UPDATE lane SET loops = jsonb_set(loops, '{since}', to_jsonb((loops->>'since')::float8 - 3600000)) || jsonb_build_object('at', (loops->>'at')::float8 - 3600000) WHERE run_id = $1`,
    [id],
  );
  await app.post(`${at}/approve`, { decision: 'approve', note: 'the red one' });
  const run = await app.ended(workspace, id);
  expect([run.error, run.steps[0]?.result]).toEqual([null, 'decided']);
});

test('what a database cannot hold, a zero byte or half a character, ends no run', async () => {
  play(
    { calls: [{ name: 'Bash', args: { command: "printf 'a\\0b'" } }] },
    { calls: [{ name: 'Write', args: { path: 'files/x.md', content: `${'x'.repeat(460)}${'😀'.repeat(60)}` } }] },
    { text: 'fine \ud800 so' },
  );
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow('## One @worker\n\nGo.') }, 'f');
  const run = await app.ended(workspace, id);
  expect([run.error, run.status]).toEqual([null, 'completed']);
});

const EVENT =
  '## Draft @worker\n\nD.\n\n## Ask @worker\n\n- wait: event\n- on_fail: TARGET\n- max_rounds: 2\n\nAsk.\n\n## Gate\n\n- approve: human\n\nOK?';

test('an event goes to the round that waits, not to one that failed before it could wait', async () => {
  play({ text: 'draft' }, { status: 400, body: 'no' }, { text: 'draft' }, { text: 'asked' });
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow(EVENT.replace('TARGET', 'draft')) }, 'f');
  const waiting = await app.until(workspace, id, (run) => run.steps[1]?.status === 'waiting');
  expect(waiting.waiting).toHaveLength(1);
  const url = new URL(waiting.waiting[0]?.releaseUrl ?? '');
  expect((await app.post(url.pathname + url.search, { a: 1 }, { as: null })).status).toBe(200);
  const run = await app.until(workspace, id, (view) => view.status === 'awaiting-approval');
  expect(run.steps[1]).toMatchObject({ round: 2, eventPayload: { a: 1 } });
});

test('a step that failed waits for no event: it is not listed, and an event is a conflict', async () => {
  play({ text: 'draft' }, { status: 400, body: 'no' }, { text: 'x' });
  const { workspace, id } = await started(
    { ...agent(), 'flows/f.md': flow(EVENT.replace('TARGET', 'continue').replace('- max_rounds: 2\n', '')) },
    'f',
  );
  const run = await app.until(workspace, id, (view) => view.status === 'awaiting-approval');
  expect(run.waiting.map((wait) => wait.kind)).toEqual(['approval']);
});

test('a write whose answer was lost is asked about, and no model call is made twice', async () => {
  play({ calls: [{ name: 'Glob', args: { pattern: '*' } }] }, { text: 'once' });
  const calls = provider.calls.length;
  lost.push('journal', 'journal', 'journal');
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow('## One @worker\n\nGo.') }, 'f');
  const run = await app.ended(workspace, id);
  expect([run.error, run.steps[0]?.result, lost]).toEqual([null, 'once', []]);
  expect(provider.calls.length - calls).toBe(2);
  expect(run.steps[0]?.trace.filter((line) => line.kind === 'model.interrupted')).toEqual([]);
});

test('a database that is away never ends a run, however often it was asked', async () => {
  const { id } = await started({ ...agent(), 'flows/f.md': flow('## One @worker\n\nGo.') }, 'f', {}, idle);
  const away: Db = {
    ...idle.deps.db,
    query: (query, values) =>
      typeof query !== 'string' && query.name === 'read-lane'
        ? Promise.reject(new DatabaseUnavailable(new Error('ECONNREFUSED')))
        : idle.deps.db.query(query, values),
  };
  const turn = { runId: id, lane: 'main', turn: 1 };
  await expect(advanceLane({ ...idle.deps, db: away }, turn, attemptOf(7))).rejects.toThrow('database');
  const [row] = await idle.deps.db.query<{ ended: boolean }>(
    'SELECT finished_at IS NOT NULL AS ended FROM run WHERE id = $1',
    [id],
  );
  expect(row?.ended).toBe(false);
});

test('a refusal that no repeat will change ends the run with its sentence', async () => {
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow('## One @worker\n\nGo.') }, 'f', {}, idle);
  const broken: Db = {
    ...idle.deps.db,
    query: (query, values) =>
      typeof query !== 'string' && query.name === 'read-lane'
        ? Promise.reject(new Refusal('not_found', 'no such file'))
        : idle.deps.db.query(query, values),
  };
  const turn = { runId: id, lane: 'main', turn: 1 };
  const stop = await advanceLane({ ...idle.deps, db: broken }, turn, attemptOf(1));
  expect(stop).toEqual({ kind: 'failed' });
  const run = await idle.run(workspace, id);
  expect([run.status, run.error]).toEqual(['failed', expect.stringContaining('no such file')]);
});

test('security 31: a model call that the step’s timeout cut counts at its reserve, and holds nothing back', async () => {
  play({ text: 'late', delayMs: 20_000 });
  const body = '## One @worker\n\n- timeout: 3s\n- on_fail: continue\n\nGo.\n\n## Gate\n\n- approve: human\n\nOK?';
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow(body, 'budget: 1\n') }, 'f');
  const run = await app.until(workspace, id, (view) => view.status === 'awaiting-approval');
  expect(run.steps[0]?.error).toContain('timeout');
  const [row] = await app.deps.db.query<{ reserved: bigint; spent: bigint }>(
    'SELECT reserved_nano AS reserved, spent_nano AS spent FROM run WHERE id = $1',
    [id],
  );
  expect(row?.reserved).toBe(0n);
  expect(row?.spent).toBeGreaterThan(0n);
  expect(run.steps[0]?.costUsd).toBeCloseTo(run.costUsd, 9);
});

test('security 31: a subflow may spend what its parent has left, not what it had when it began', async () => {
  play({ text: 'dear', usage: { input: 950_000, output: 10 } }, { text: 'ran', usage: { input: 300, output: 10 } });
  const { workspace, id } = await started(
    {
      ...agent(),
      'flows/f.md': flow('## One @worker\n\nGo.\n\n## Call\n\n- subflow: inner', 'budget: 1\n'),
      'flows/inner.md': flow('## Inner @worker\n\nGo.\n\n## Gate\n\n- approve: human\n\nOK?'),
    },
    'f',
  );
  const run = await app.until(workspace, id, (view) => view.waiting.length > 0);
  const child = await app.until(workspace, run.waiting[0]?.runId ?? '', (view) => view.waiting.length > 0);
  expect(run.waiting[0]?.step).toBe(2);
  // Its flow declares no budget; $0.05 buys less than 5,000 tokens, with the input.
  expect(child.budgetUsd).toBeUndefined();
  const { body } = provider.calls.at(-1) ?? {};
  expect(Number(body.max_tokens ?? body.max_completion_tokens)).toBeLessThan(5_000);
});

test.each([
  ['the step', '', '- budget: 0.05\n\n'],
  ['the agent worker', 'budget: 0.05\n', ''],
])('security 31: the budget of %s holds, and says so when it is used up', async (of, frontmatter, options) => {
  let n = 0;
  provider.respond(({ body }) => {
    n += 1;
    const output = Math.min(1_500, Number(body.max_tokens ?? body.max_completion_tokens));
    return { calls: [{ name: 'Glob', args: { pattern: `*${n}` } }], usage: { input: 300, output } };
  });
  const { workspace, id } = await started(
    { ...agent(frontmatter), 'flows/f.md': flow(`## One @worker\n\n${options}Go.`) },
    'f',
  );
  const run = await app.ended(workspace, id);
  expect(run.error).toContain(`the budget of ${of}, $0.05, is used up`);
  expect(run.costUsd).toBeLessThanOrEqual(0.05);
  expect(n).toBeGreaterThan(1);
  const [row] = await app.deps.db.query<{ reserved: bigint }>(
    'SELECT reserved_nano AS reserved FROM run WHERE id = $1',
    [id],
  );
  expect(row?.reserved).toBe(0n);
});

test('security 31: a lane waits for what its siblings hold of the budget, and fails only when it is used up', async () => {
  play({ text: 'ran', delayMs: 1_500, usage: { input: 300, output: 100 } });
  const lanes = ['A', 'B', 'C', 'D'].map((name) => `### ${name} @worker\n\nGo.`).join('\n\n');
  const { workspace, id } = await started(
    { ...agent(), 'flows/f.md': flow(`## All\n\n${lanes}`, 'budget: 0.10\n') },
    'f',
  );
  const run = await app.ended(workspace, id);
  expect([run.error, run.steps.map((step) => step.status)]).toEqual([null, Array(4).fill('completed')]);
  expect(run.costUsd).toBeCloseTo(4 * 0.0013, 9);
});

test('the next round sees what the step made in the round before, until it makes something new', async () => {
  play({ text: 'FIRST DRAFT' }, { text: 'SECOND' });
  const body =
    '## Draft @worker\n\nImprove {{steps.draft.result}} please.\n\n## Sign\n\n- approve: human\n- on_reject: draft\n- max_rounds: 2\n\nOK?';
  const { workspace, id, at } = await started({ ...agent(), 'flows/f.md': flow(body) }, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await app.post(`${at}/approve`, { decision: 'reject', note: 'warmer' });
  await app.until(workspace, id, (run) => run.steps[0]?.round === 2 && run.status === 'awaiting-approval');
  const prompt = provider.calls.at(-1)?.prompt ?? '';
  expect(prompt).toContain('Improve \\"FIRST DRAFT\\" please.');
  expect(prompt).toContain('warmer');
});

test('an item that fails hands its error to where the step goes back to, and items run again', async () => {
  play({ text: 'draft' }, { status: 400, body: 'bad item' }, { text: 'draft' }, { text: 'item' });
  const body =
    '## Draft @worker\n\nD.\n\n## Fan @worker\n\n- each: run.tags\n- as: tag\n- on_fail: draft\n- max_rounds: 2\n\nFor {{tag}}.';
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow(body) }, 'f', { tags: ['a'] });
  const run = await app.ended(workspace, id);
  expect([run.error, run.steps[1]?.data]).toEqual([null, ['item']]);
  const again = provider.calls.findLast((call) => call.prompt.includes('another round'))?.prompt ?? '';
  expect(again).toContain('bad item');
  expect(again).not.toContain('cannot go back');
  expect(run.steps[1]?.items).toHaveLength(1);
});

test('in a race a branch that was skipped does not win', async () => {
  play({ text: 'ran', delayMs: 4_000 }, { text: 'end' });
  const body =
    '## Race\n\n- join: any\n\n### Off @worker\n\n- when: false\n\nO.\n\n### On @worker\n\nN.\n\n## After @worker\n\nA.';
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow(body) }, 'f');
  const run = await app.ended(workspace, id);
  expect(run.steps.map((step) => [step.id, step.status])).toEqual([
    ['off', 'skipped'],
    ['on', 'completed'],
    ['after', 'completed'],
  ]);
});

test('a race whose branches are all skipped goes on', async () => {
  play({ text: 'ran' });
  const body =
    '## Race\n\n- join: any\n\n### Off @worker\n\n- when: false\n\nO.\n\n### Also off @worker\n\n- when: false\n\nN.\n\n## After @worker\n\nA.';
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': flow(body) }, 'f');
  const run = await app.ended(workspace, id);
  expect([run.status, run.steps[2]?.status]).toEqual(['completed', 'completed']);
});

const OUTER = {
  'flows/f.md': flow('## Call\n\n- subflow: inner'),
  'flows/inner.md': flow('## Gate\n\n- approve: human\n\nOK?'),
};

test('a run that is ended from outside takes its child runs with it', async () => {
  const { workspace, id } = await started({ ...agent(), ...OUTER }, 'f');
  const run = await app.until(workspace, id, (view) => view.waiting.length > 0);
  const child = run.waiting[0]?.runId ?? '';
  await app.until(workspace, child, (view) => view.status === 'awaiting-approval');
  expect(await closeRun(app.deps.db, id, 'lost: for the test')).toBe(true);
  const inner = await app.run(workspace, child);
  expect([inner.status, inner.waiting]).toEqual(['failed', []]);
  await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
});

test('security 11: for a viewer the token is nowhere, whatever the agent does with the release address', async () => {
  let url = '';
  provider.respond(({ prompt }) => {
    url = /http[^\s"\\]*token=[^\s"\\]*/.exec(prompt)?.[0] ?? '';
    return prompt.includes('call_')
      ? { text: `Send it to ${url}` }
      : { calls: [{ name: 'Bash', args: { command: `echo '${url}'` } }] };
  });
  const body = '## Ask @worker\n\n- wait: event\n\nAsk at {{step.release_url}}.';
  const { workspace, id, at } = await started({ ...agent(), 'flows/f.md': flow(body) }, 'f');
  await app.until(workspace, id, (run) => run.steps[0]?.status === 'waiting');
  const token = new URL(url).searchParams.get('token') ?? '';
  expect(token.length).toBeGreaterThan(20);
  expect(await (await app.get(at)).text()).toContain(token);
  expect((await app.run(workspace, id)).memoryWrites).toEqual([]);
  const viewer = await app.keyFor('viewer');
  expect(await (await app.get(at, { as: viewer })).text()).not.toContain(token);
  await app.post(`${at}/stop`);
  const stream = await (await app.get(`${at}/stream?after=0`, { as: viewer })).text();
  expect(stream).toContain('tool.finished');
  expect(stream).not.toContain(token);
});

test('the time a run waits in the queue does not count against its timeout', async () => {
  const { id } = await started(
    { ...agent(), 'flows/f.md': flow('## Gate\n\n- approve: human\n\nOK?', 'timeout: 1h\n') },
    'f',
    {},
    idle,
  );
  await idle.deps.db.query(
    `UPDATE run SET created_at = created_at - interval '2 hours', deadline_at = deadline_at - interval '2 hours' WHERE id = $1`,
    [id],
  );
  const turn = { runId: id, lane: 'main', turn: 1 };
  const stop = await advanceLane(idle.deps, turn, attemptOf(1));
  expect(stop).toMatchObject({ kind: 'park' });
  const [row] = await idle.deps.db.query<{ left: number }>(
    'SELECT extract(epoch FROM deadline_at - now())::float8 AS left FROM run WHERE id = $1',
    [id],
  );
  expect(row?.left).toBeGreaterThan(3_000);
});

test('a run that waits goes on with the fields of a form, and broken JSON before it changed nothing', async () => {
  play({ text: 'asked' });
  const body = flow('## Ask @worker\n\n- wait: event\n\nAsk.');
  const { workspace, id } = await started({ ...agent(), 'flows/f.md': body }, 'f');
  const run = await app.until(workspace, id, (view) => view.waiting.length > 0);
  const url = new URL(run.waiting[0]?.releaseUrl ?? '');
  const send = (type: string, text: string) =>
    app.request(url.pathname + url.search, { method: 'POST', as: null, headers: { 'content-type': type }, body: text });
  expect((await send('application/json', '{')).status).toBe(400);
  expect((await send('application/x-www-form-urlencoded', 'a=1&b=2')).status).toBe(200);
  expect((await app.ended(workspace, id)).steps[0]?.eventPayload).toEqual({ a: '1', b: '2' });
});

test('a stream leaves nothing behind while it waits, and ends with a run that is deleted under it', async () => {
  play({ text: 'x' });
  const { workspace, id, at } = await started(
    { ...agent(), 'flows/f.md': flow('## Gate\n\n- approve: human\n\nOK?') },
    'f',
  );
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  const gone = new AbortController();
  const looks: string[] = [];
  const db: Db = {
    ...app.deps.db,
    query: (query, values) => {
      if (typeof query !== 'string' && query.name === 'stream-look') looks.push(id);
      return app.deps.db.query(query, values);
    },
  };
  const items = await streamRun({ ...app.deps, db }, caller(), { workspace, runId: id, after: 0, signal: gone.signal });
  const names: string[] = [];
  const reading = (async () => {
    for await (const item of items ?? []) names.push(item.event);
  })();
  await expect.poll(() => looks.length).toBeGreaterThanOrEqual(4);
  expect(getEventListeners(gone.signal, 'abort').length).toBeLessThanOrEqual(1);
  await app.post(`${at}/stop`);
  expect((await app.delete(at)).status).toBe(200);
  await reading;
  expect(names.at(-1)).toBe('end');
});
