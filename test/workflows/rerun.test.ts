import { beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { createDb } from '../../src/platform/db/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const post = (workspace: string, path: string, body: object = {}) =>
  app.post(`/api/workspaces/${workspace}/${path}`, body);
const approve = (workspace: string, id: string, gate: RunView['gate'] = undefined) =>
  post(workspace, `runs/${id}/approve`, { decision: 'approve', ...gate });

async function rerun(workspace: string, id: string, body: object = {}): Promise<string> {
  const response = await post(workspace, `runs/${id}/rerun`, body);
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { runId: string }).runId;
}

async function refusal(workspace: string, id: string, body: object): Promise<[number, string]> {
  const response = await post(workspace, `runs/${id}/rerun`, body);
  return [response.status, ((await response.json()) as { error: string }).error];
}

const calls = (run: RunView) =>
  run.steps.map((step) => step.trace.filter((line) => line.kind === 'model.finished').length);
const OTHER = {
  'agents/other/agent.md': '---\nname: other\ndescription: Works.\n---\n\nYou work.\n',
  'agents/other/script.yaml': '- { text: by the other }\n',
};
const THREE = flow('## One @worker\n\n1.\n\n## Two @worker\n\n2.\n\n## Three @worker\n\n{{steps.one.result}}');

test('a rerun from a step takes over what the steps before it made, and makes none of their calls', async () => {
  const workspace = await app.workspace({
    ...scripted(
      '- { calls: [{ tool: Write, args: { path: outputs/a.md, content: A } }], when: { step: one, turn: 1 } }\n- { text: first, when: { step: one } }\n- { text: second, when: { step: two } }\n- { text: third, when: { step: three } }\n',
    ),
    'flows/f.md': THREE,
  });
  const old = await app.ended(workspace, await app.start(workspace, 'f', { task: 'go', tags: ['x'] }));
  expect(old.status).toBe('completed');
  const run = await app.ended(workspace, await rerun(workspace, old.id, { step: 3 }));
  expect([run.status, run.from, run.rerunOf, run.tags, run.input]).toEqual(['completed', 3, old.id, ['x'], 'go']);
  expect(run.rerun).toEqual({ of: old.id, step: 3, agent: null, with: 'own', copied: [1, 2], notCopied: [] });
  expect(run.steps.map((step) => step.copied ?? false)).toEqual([true, true, false]);
  expect(run.steps.map((step) => step.result)).toEqual(old.steps.map((step) => step.result));
  expect(calls(run)).toEqual([0, 0, 1]);
  expect(run.steps[0]?.trace.map((line) => line.text)).toEqual([`taken over from run ${old.id}`]);
  expect([run.costUsd, run.steps[0]?.costUsd]).toEqual([0, 0]);
  expect(run.steps[0]?.files).toEqual(old.steps[0]?.files);
  const archived = await app.get(`/api/workspaces/${workspace}/runs/${run.id}/archive?agent=worker&path=outputs/a.md`);
  expect([archived.status, await archived.text()]).toEqual([200, 'A']);
  expect((await app.run(workspace, old.id)).lastSeq).toBe(old.lastSeq);
});

test('a rerun without a step begins anew, on the revision of the run, or with today’s', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/f.md': flow('## One @worker\n\n1.\n\n## Two @worker\n\n2.'),
  });
  const old = await app.ended(workspace, await app.start(workspace, 'f'));
  const body = flow('## Zero @worker\n\n0.\n\n## One @worker\n\n1.\n\n## Two @worker\n\n2.');
  const put = await app.put(`/api/workspaces/${workspace}/source?path=flows/f.md`, { content: body });
  expect(put.status).toBe(200);
  const own = await app.ended(workspace, await rerun(workspace, old.id));
  expect([own.revision, own.steps.length, own.rerun]).toMatchObject([old.revision, 2, { copied: [], with: 'own' }]);
  const current = await app.ended(workspace, await rerun(workspace, old.id, { step: 3, with: 'current' }));
  expect([current.status, current.revision === old.revision]).toEqual(['completed', false]);
  expect(current.rerun).toMatchObject({
    with: 'current',
    copied: [2],
    notCopied: [{ n: 1, id: 'zero', why: 'the old run had no step of this id' }],
  });
  expect(current.steps.map((step) => [step.id, step.status, step.copied ?? false])).toEqual([
    ['zero', 'skipped', false],
    ['one', 'completed', true],
    ['two', 'completed', false],
  ]);
});

test('another agent of the revision runs the step; the plan of others stays as it was', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: by the worker }\n', OTHER), 'flows/f.md': THREE });
  const old = await app.ended(workspace, await app.start(workspace, 'f'));
  const run = await app.ended(workspace, await rerun(workspace, old.id, { step: 2, agent: 'other' }));
  expect(run.steps.map((step) => [step.agent, step.result])).toEqual([
    ['worker', 'by the worker'],
    ['other', 'by the other'],
    ['worker', 'by the worker'],
  ]);
  expect((await app.ended(workspace, await app.start(workspace, 'f'))).steps[1]?.agent).toBe('worker');
});

test('what cannot be run again is refused with a sentence that says what to do', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x, when: { step: one } }\n- { error: refused, when: { step: two } }\n', OTHER),
    'flows/f.md': flow('## One @worker\n\n1.\n\n## Two @worker\n\n2.\n\n## Gate\n\n- approve: human\n\nOK?'),
  });
  const old = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(old.status).toBe('failed');
  expect(await refusal(workspace, old.id, { step: 4 })).toEqual([
    422,
    'step: f has 3 steps, so it cannot begin at step 4',
  ]);
  expect(await refusal(workspace, old.id, { step: 2, agent: 'nobody' })).toEqual([
    422,
    'agent: there is no agent nobody in the revision of the rerun',
  ]);
  expect(await refusal(workspace, old.id, { step: 3, agent: 'other' })).toEqual([
    422,
    'agent: step 3 (Gate) has no agent that could be replaced',
  ]);
  const [status, text] = await refusal(workspace, old.id, { step: 3 });
  expect([status, text]).toEqual([
    409,
    expect.stringContaining('step 2 (Two) has no result to take over, it failed: '),
  ]);
  expect(text).toContain('begin at step 2 or before');
  expect((await post(workspace, `runs/${old.id}x/rerun`)).status).toBe(404);
});

test('security: a decision is never inherited: a gate before the step stands as it was, one at or after it asks anew', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/f.md': flow(
      '## One @worker\n\n1.\n\n## First\n\n- approve: human\n\nOK?\n\n## Two @worker\n\n2.\n\n## Second\n\n- approve: human\n\nOK?',
    ),
  });
  const id = await app.start(workspace, 'f');
  for (const step of [2, 4]) {
    await app.until(workspace, id, (run) => run.waiting[0]?.step === step);
    await approve(workspace, id);
  }
  await app.ended(workspace, id);
  const after = await rerun(workspace, id, { step: 3 });
  const run = await app.until(workspace, after, (view) => view.waiting.length > 0);
  expect([run.status, run.waiting[0]?.step, run.steps[3]?.decision]).toEqual(['awaiting-approval', 4, undefined]);
  expect([run.steps[1]?.copied, run.steps[1]?.decision]).toMatchObject([true, { decision: 'approve' }]);
  expect(await app.deps.db.query('SELECT 1 FROM park WHERE run_id = $1', [after])).toHaveLength(1);
  await approve(workspace, after);
  await app.ended(workspace, after);
  const at = await rerun(workspace, id, { step: 2 });
  expect((await app.until(workspace, at, (view) => view.waiting.length > 0)).waiting[0]?.step).toBe(2);
});

test('a live run goes on as it was, while a rerun begins from what it has finished', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/f.md': flow('## One @worker\n\n1.\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\n2.'),
  });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  expect(await refusal(workspace, id, { step: 3 })).toEqual([
    409,
    'cannot begin at step 3: step 2 (Gate) has no result to take over, the run did not get past it; begin at step 2 or before',
  ]);
  const other = await rerun(workspace, id, { step: 2 });
  await app.until(workspace, other, (run) => run.status === 'awaiting-approval');
  await approve(workspace, other);
  const run = await app.ended(workspace, other);
  expect([run.status, calls(run)]).toEqual(['completed', [0, 0, 1]]);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  await approve(workspace, id);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('inside a group the branches before the step keep their results; a race takes none of them over', async () => {
  const body = (join: string) =>
    flow(
      `## Both\n\n- join: ${join}\n\n### Left @worker\n\nL.\n\n### Right @worker\n\nR.\n\n## After @worker\n\n{{steps.left.result}}{{steps.right.result}}`,
    );
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/all.md': body('all'),
    'flows/any.md': body('any'),
  });
  const all = await app.ended(workspace, await app.start(workspace, 'all'));
  const run = await app.ended(workspace, await rerun(workspace, all.id, { step: 2 }));
  expect([run.status, calls(run), run.steps.map((step) => step.status)]).toEqual([
    'completed',
    [0, 1, 1],
    ['completed', 'completed', 'completed'],
  ]);
  const past = await app.ended(workspace, await rerun(workspace, all.id, { step: 3 }));
  expect([past.status, calls(past)]).toEqual(['completed', [0, 0, 1]]);
  const any = await app.ended(workspace, await app.start(workspace, 'any'));
  const race = await app.ended(workspace, await rerun(workspace, any.id, { step: 2 }));
  expect([race.status, calls(race), race.steps[0]?.status]).toEqual(['completed', [0, 1, 1], 'skipped']);
  expect(race.rerun).toMatchObject({
    copied: [],
    notCopied: [{ n: 1, why: 'its group ended with its first branch' }],
  });
});

test('items and rounds are taken over with their step, and a loop back to a taken step runs it', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/f.md': flow(
      '## Each @worker\n\n- each: "[1, 2]"\n- as: n\n\nGo.\n\n## Check @worker\n\n- until: steps.each.status == "completed" && has(steps.check.result)\n- back_to: each\n- max_rounds: 2\n\n2.\n\n## Sign\n\n- approve: human\n- on_reject: check\n- max_rounds: 2\n\nOK?'.replace(
        '"[1, 2]"',
        '[1, 2]',
      ),
    ),
  });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await post(workspace, `runs/${id}/approve`, { decision: 'reject', note: 'again' });
  const back = await app.until(workspace, id, (run) => run.steps[2]?.round === 2 && run.status === 'awaiting-approval');
  await approve(workspace, id, back.gate);
  const old = await app.ended(workspace, id);
  const again = await rerun(workspace, id, { step: 3 });
  const run = await app.until(workspace, again, (view) => view.status === 'awaiting-approval');
  expect([run.steps[0]?.items?.length, run.steps[1]?.round, run.steps[1]?.rounds.length]).toEqual([
    old.steps[0]?.items?.length,
    2,
    1,
  ]);
  await post(workspace, `runs/${again}/approve`, { decision: 'reject', note: 'once more' });
  const sent = await app.until(
    workspace,
    again,
    (view) => view.steps[2]?.round === 2 && view.status === 'awaiting-approval',
  );
  await approve(workspace, again, sent.gate);
  const ended = await app.ended(workspace, again);
  expect([ended.status, ended.steps[1]?.round, ended.steps[1]?.copied, calls(ended)]).toEqual([
    'completed',
    3,
    undefined,
    [0, 1, 0],
  ]);
});

test('a flow that is switched off starts no run and no rerun', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: x }\n'), 'flows/f.md': flow('## One @worker\n\n1.') });
  const old = await app.ended(workspace, await app.start(workspace, 'f'));
  const put = await app.put(`/api/workspaces/${workspace}/source?path=flows/f.md`, {
    content: flow('## One @worker\n\n1.', 'enabled: false\n'),
  });
  expect(put.status).toBe(200);
  const said = 'flow f is switched off: set enabled: true to run it';
  const start = await post(workspace, 'flows/f/run');
  expect([start.status, ((await start.json()) as { error: string }).error]).toEqual([409, said]);
  expect(await refusal(workspace, old.id, {})).toEqual([409, said]);
});

test('the same Idempotency-Key makes one rerun, and a rerun stands in line for its flow’s slot', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x, delayMs: 1500 }\n'),
    'flows/f.md': flow('## One @worker\n\n1.', 'concurrency: { limit: 1 }\n'),
  });
  const first = await app.start(workspace, 'f');
  const ask = () =>
    app.request(`/api/workspaces/${workspace}/runs/${first}/rerun`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
      body: '{}',
    });
  const answers = [await ask(), await ask()];
  expect(answers.map((one) => one.status)).toEqual([202, 202]);
  const [one, two] = (await Promise.all(answers.map((answer) => answer.json()))) as { runId: string }[];
  expect(one?.runId).toBe(two?.runId);
  expect((await app.run(workspace, one?.runId ?? '')).waitsForSlot).toBe(true);
  expect((await app.ended(workspace, one?.runId ?? '')).status).toBe('completed');
});

test('a rerun takes one connection: as many at once as there are never wait for each other', async () => {
  const db = createDb({ url: testDatabase(), ca: null, poolSize: 1, log: silentLog });
  const narrow = await createEngineApp({ worker: false, deps: { db } });
  const workspace = await narrow.workspace({ ...scripted('- { text: x }\n'), 'flows/f.md': THREE });
  const id = await narrow.start(workspace, 'f');
  // A plan that this process has not read yet.
  await db.query(`INSERT INTO plan SELECT (x).* FROM (SELECT jsonb_populate_record(p, '{"id":"unread"}') AS x FROM plan p
    JOIN run r ON r.workspace_id = p.workspace_id AND r.plan_id = p.id WHERE r.id = '${id}') y`);
  await db.query(`UPDATE run SET plan_id = 'unread' WHERE id = $1`, [id]);
  const response = await narrow.post(`/api/workspaces/${workspace}/runs/${id}/rerun`, {});
  expect([response.status, await response.text()]).toEqual([202, expect.anything()]);
  await db.close();
});
