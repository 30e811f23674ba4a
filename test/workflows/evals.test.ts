import { beforeAll, expect, test } from 'vitest';
import type { EvalRunView } from '../../src/contract/evals.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { evalVerbs } from '../support/evals.js';
import { flow, scripted } from '../support/flows.js';
import type { Tree } from '../support/workspace-app.js';

let app: EngineApp;
let evals: ReturnType<typeof evalVerbs>;
beforeAll(async () => {
  app = await createEngineApp();
  evals = evalVerbs(app);
});

const JUDGE = `- when: { contains: "a draft" }
  text: '{"verdicts":[{"n":1,"holds":true,"evidence":"It says so."}]}'
- text: '{"verdicts":[{"n":1,"holds":false,"evidence":"It does not."}]}'
`;

/** A workspace whose flow `g` drafts, asks a person, waits for an event, and sends. */
function tree(cases: string, more: Tree = {}): Tree {
  return {
    ...scripted(
      `- when: { step: draft }
  text: a draft
- when: { step: send, turn: 1 }
  calls: [{ tool: send-email, args: { method: POST, path: /messages } }]
- when: { step: send, turn: 2 }
  text: "sent: {{last}}"
`,
      {},
      'tools: [send-email]\napprove: [send-email]\n',
    ),
    'agents/judge/agent.md': '---\nname: judge\ndescription: Judges.\n---\n\nYou judge.\n',
    'agents/judge/script.yaml': JUDGE,
    'tools/send-email.md':
      '---\nname: send-email\ndescription: Sends.\nbase: https://mail.example\nmethods: [POST]\n---\n\nSends.\n',
    'flows/g.md': flow(
      `## Draft @worker

Draft.

## Sign

- approve: human

Right?

## Nap

- wait: 2h

## Hear

- wait: event

## Send @worker

Send it.`,
    ),
    'evals/e.md': `---\nname: e\ndescription: Tests.\ntarget: flows/g\ntrigger: manual\n---\n\n${cases}`,
    ...more,
  };
}

const DECIDED = `### Decisions

- sign: approve, "fine"
- hear: event {"ok": true}
`;
const MAIL = '### Tools\n\n```json send-email\n{ "id": 7 }\n```\n';
const input = (title: string, more: string, options = '') =>
  `## ${title}\n\n${options}### Input\n\nWrite.\n\n${more}\n`;
const expects = (...lines: string[]) => `### Expect\n\n${lines.map((line) => `- ${line}`).join('\n')}\n`;
const verdicts = (run: EvalRunView, at = 0) => run.cases[at]?.assertions.map(({ text, passed }) => [text, passed]);

test('a case decides its gates and events, tools answer from it, no time is waited for, and the judge grades it', async () => {
  const lines = [
    'status: completed',
    "step(sign): cel: decision.note == 'fine'",
    'step(hear): cel: event.ok == true',
    'step(nap): status: completed',
    'step(send): contains: 7',
    'tool-called: send-email',
    'step(draft): It is a draft.',
  ];
  const workspace = await app.workspace(tree(input('Goes through', `${DECIDED}\n${MAIL}\n${expects(...lines)}`)));
  const run = await evals.whole(workspace, 'e');
  expect(verdicts(run)).toEqual(lines.map((line) => [line, true]));
  expect(run).toMatchObject({ status: 'completed', ok: true, passed: 1, failed: 0, skipped: 0, trigger: 'manual' });
  expect(run.cases[0]).toMatchObject({ name: 'Goes through', passed: true, score: 1, state: 'done', error: null });
  const runId = run.cases[0]?.runId ?? '';
  const listed = async (query: string) =>
    ((await (await app.get(`/api/workspaces/${workspace}/runs${query}`)).json()) as { runs: { id: string }[] }).runs;
  expect([await listed(''), (await listed('?mode=eval')).map(({ id }) => id)]).toEqual([[], [runId]]);
  expect((await listed('?mode=all')).map(({ id }) => id)).toEqual([runId]);
  expect((await app.run(workspace, runId)).trigger).toMatchObject({ kind: 'eval', eval: 'e', case: 'Goes through' });
  const meters = await app.deps.db.query<{ meter: string }>(
    'SELECT DISTINCT u.meter FROM usage u JOIN workspace w ON w.id = u.workspace_id WHERE w.name = $1 ORDER BY 1',
    [workspace],
  );
  expect(meters.map(({ meter }) => meter)).toEqual(['eval', 'judge']);
});

test('a case ends where it says nothing, a rejection counts, a call without a result is told, and a skipped case stays out', async () => {
  const cases = [
    input('Parks', expects('parked-at: sign', 'status: awaiting-approval', 'step(sign): status: waiting')),
    input('Parks unseen', expects('step(draft): contains: draft', 'not-parked-at: sign')),
    input('Waits', `### Decisions\n\n- sign: approve\n\n${expects('parked-at: hear', 'status: running')}`),
    input(
      'Rejected',
      `### Decisions\n\n- sign: reject, "no"\n\n${expects('status: failed', 'not-tool-called: send-email')}`,
    ),
    input(
      'No result',
      `${DECIDED}\n${expects('step(send): contains: not called in this eval', 'tool-called: send-email')}`,
    ),
    input(
      'Failed unseen',
      `### Decisions\n\n- sign: reject\n\n${expects('step(draft): contains: draft', 'It is a poem.')}`,
    ),
    input('Left out', expects('status: completed'), '- skip: true\n\n'),
  ];
  const workspace = await app.workspace(tree(cases.join('\n')));
  const started = await evals.start(workspace, 'e');
  expect(started).toMatchObject({ ok: true, cases: 6 });
  const run = await evals.ended(workspace, 'e', started.evalRunId);
  expect(run.cases.map(({ name, passed, state }) => [name, passed, state])).toEqual([
    ['Parks', true, 'done'],
    ['Parks unseen', false, 'done'],
    ['Waits', true, 'done'],
    ['Rejected', true, 'done'],
    ['No result', true, 'done'],
    ['Failed unseen', false, 'done'],
    ['Left out', null, 'skipped'],
  ]);
  expect(run.cases[5]?.assertions).toMatchObject([
    { passed: true },
    { passed: false, evidence: 'not judged: the run failed' },
    { text: 'status: completed', passed: false, evidence: expect.stringContaining('rejected by') },
  ]);
  expect(run).toMatchObject({ ok: false, passed: 4, failed: 2, skipped: 1 });
  // Nothing of an ended case is left for a person.
  const open = await app.deps.db.query(
    `SELECT p.id FROM park p JOIN run r ON r.id = p.run_id JOIN workspace w ON w.id = r.workspace_id
      WHERE w.name = $1 AND p.decided_at IS NULL`,
    [workspace],
  );
  expect(open).toEqual([]);
});

test('branches, items and subflows: decisions reach inside, and a case ends once nothing of it moves', async () => {
  const asks = 'tools: [ask_human]\n';
  const workspace = await app.workspace({
    ...scripted(
      `- when: { step: ask, turn: 1 }
  calls: [{ tool: ask_human, args: { question: Which? } }]
- when: { step: ask, turn: 2 }
  text: "told {{last}}"
- when: { step: slow }
  text: slow
  delayMs: 1500
- text: fine
`,
      {},
      asks,
    ),
    'flows/inner.md': flow('## Work @worker\n\nW.\n\n## Sign\n\n- approve: human\n\nOK?'),
    'flows/g.md': flow(
      `## Both

### Pay

- subflow: inner

### Slow @worker

S.

## Ask @worker

- each: [1, 2, 3]
- parallel: 2

Ask.

## End @worker

E.`,
    ),
    'evals/e.md': `---\ntarget: flows/g\ntrigger: manual\n---\n\n${[
      input(
        'Through',
        `### Decisions\n\n- pay/sign: approve\n- ask: approve, "blue"\n\n${expects(
          'status: completed',
          'step(pay/sign): status: completed',
          "step(ask): cel: data == ['told blue', 'told blue', 'told blue']",
        )}`,
      ),
      input(
        'Inside',
        expects(
          'parked-at: pay/sign',
          'step(slow): status: completed',
          'step(pay): status: running',
          'step(both): status: running',
          'status: awaiting-approval',
        ),
      ),
      input('Items', `### Decisions\n\n- pay/sign: approve\n\n${expects('parked-at: ask', 'not-status: completed')}`),
    ].join('\n')}`,
  });
  const run = await evals.whole(workspace, 'e');
  expect(run.cases.map(({ name, assertions }) => [name, assertions.filter(({ passed }) => !passed)])).toEqual([
    ['Through', []],
    ['Inside', []],
    ['Items', []],
  ]);
});

test('memory is an overlay that is dropped, canned results answer in order, and no slot of the flow is taken', async () => {
  const workspace = await app.workspace({
    ...scripted(
      `- when: { turn: 1 }
  calls: [{ tool: count, args: {} }, { tool: count, args: {} }, { tool: Write, args: { path: memory/worker/a.md, content: "new" } }]
- when: { turn: 2 }
  calls: [{ tool: count, args: {} }]
- when: { turn: 3 }
  calls: [{ tool: Read, args: { path: memory/worker/a.md } }]
- when: { turn: 4 }
  text: "{{last}}"
`,
      {},
      'tools: [count, Read, Write]\n',
    ),
    'tools/count.md': '---\nname: count\ndescription: Counts.\n---\n\n```bash\necho real\n```\n',
    'flows/g.md': flow('## Work @worker\n\nW.', 'concurrency: { limit: 1 }\n'),
    'evals/e.md': `---\ntarget: flows/g\ntrigger: manual\n---\n\n${[1, 2, 3]
      .map((n) =>
        input(
          `Case ${n}`,
          `### Tools\n\n\`\`\`json count\n"one"\n\`\`\`\n\n\`\`\`json count\n"two"\n\`\`\`\n\n${expects('status: completed', 'contains: new')}`,
        ),
      )
      .join('\n')}`,
  });
  const run = await evals.whole(workspace, 'e');
  expect(run.cases.map(({ passed }) => passed)).toEqual([true, true, true]);
  for (const { runId } of run.cases) {
    const calls = await app.deps.db.query<{ text: string }>(
      `SELECT result->>'text' AS text FROM call WHERE run_id = $1 AND name = 'count' ORDER BY turn, call`,
      [runId],
    );
    expect(calls.map(({ text }) => text)).toEqual(['one', 'two', 'two']);
  }
  const memory = await app.deps.db.query(
    'SELECT path FROM memory_file m JOIN workspace w ON w.id = m.workspace_id WHERE w.name = $1',
    [workspace],
  );
  const slots = await app.deps.db.query(
    'SELECT run_id FROM slot s JOIN workspace w ON w.id = s.workspace_id WHERE w.name = $1',
    [workspace],
  );
  expect([memory, slots]).toEqual([[], []]);
});

test('live: a case may let calls without a result reach the tool itself', async () => {
  const workspace = await app.workspace({
    ...scripted('- calls: [{ tool: count, args: {} }]\n- text: "{{last}}"\n', {}, 'tools: [count]\n'),
    'tools/count.md': '---\nname: count\ndescription: Counts.\n---\n\n```bash\necho real\n```\n',
    'flows/g.md': flow('## Work @worker\n\nW.'),
    'evals/e.md': `---\ntarget: flows/g\ntrigger: manual\n---\n\n${input('Live', expects('contains: real'), '- live: true\n\n')}`,
  });
  expect((await evals.whole(workspace, 'e')).cases[0]).toMatchObject({ passed: true });
});

test('repeats give a pass rate, and the threshold decides', async () => {
  const workspace = await app.workspace(
    tree(
      [
        input('Loose', expects('parked-at: sign'), '- repeat: 3\n- threshold: 0.5\n\n'),
        input('Strict', expects('not-parked-at: sign'), '- repeat: 2\n\n'),
      ].join('\n'),
    ),
  );
  const run = await evals.whole(workspace, 'e');
  expect(run.cases).toMatchObject([
    {
      name: 'Loose',
      passed: true,
      passRate: 1,
      threshold: 0.5,
      repeats: [{ repeat: 1 }, { repeat: 2 }, { repeat: 3 }],
    },
    { name: 'Strict', passed: false, passRate: 0, threshold: 1 },
  ]);
  expect(new Set(run.cases[0]?.repeats?.map(({ runId }) => runId)).size).toBe(3);
});

test('two runs are compared case by case, and the list has both, newest first', async () => {
  const good = tree(
    input('Same', expects('parked-at: sign')) + input('Changes', expects('step(draft): contains: draft')),
  );
  const workspace = await app.workspace(good);
  const first = await evals.whole(workspace, 'e');
  const changed = `${good['evals/e.md']?.replace('step(draft): contains: draft', 'step(draft): contains: poem')}${input('New', expects('parked-at: sign'))}`;
  const put = await app.put(`/api/workspaces/${workspace}/source`, { path: 'evals/e.md', content: changed });
  expect(put.status).toBe(200);
  const second = await evals.whole(workspace, 'e');
  const { comparison } = await evals.read(workspace, 'e', second.id, `?compare=${first.id}`);
  expect(comparison?.with.id).toBe(first.id);
  expect(comparison?.cases.map(({ name, change }) => [name, change])).toEqual([
    ['Same', 'same'],
    ['Changes', 'broken'],
    ['New', 'added'],
  ]);
  expect((await evals.runs(workspace, 'e')).map(({ id, ok }) => [id, ok])).toEqual([
    [second.id, false],
    [first.id, true],
  ]);
  expect((await evals.read(workspace, 'e', first.id, `?compare=${second.id}`)).comparison?.cases).toContainEqual(
    expect.objectContaining({ name: 'New', change: 'removed', now: null }),
  );
  const list = (await (await app.get(`/api/workspaces/${workspace}/evals`)).json()) as { evals: object[] };
  expect(list.evals).toMatchObject([
    { name: 'e', target: 'flows/g', lastRun: { id: second.id, passed: 2, failed: 1 } },
  ]);
});

test('a deploy begins the evals whose trigger is push and waits for none; an edit begins none, and evals hold no deploy up', async () => {
  const files = tree(input('Slow', expects('status: completed')));
  const slow = '- text: slow\n  delayMs: 60000\n';
  const pushed = { ...files, 'evals/e.md': (files['evals/e.md'] ?? '').replace('trigger: manual\n', '') };
  const workspace = await app.workspace(files);
  const deploy = (tree: Tree) =>
    app.post(`/api/workspaces/${workspace}/deploy`, {
      files: Object.entries(tree).map(([path, content]) => ({ path, content })),
    });
  expect((await deploy({ ...pushed, 'agents/worker/script.yaml': slow })).status).toBe(200);
  const [begun] = await evals.runs(workspace, 'e');
  expect(begun).toMatchObject({ trigger: 'push', ok: null });
  await evals.until(workspace, 'e', { id: begun?.id ?? '', holds: (run) => run.cases[0]?.runId != null });
  expect((await deploy({ ...files, 'agents/worker/script.yaml': slow })).status).toBe(200);
  const edit = await app.put(`/api/workspaces/${workspace}/source`, {
    path: 'evals/e.md',
    content: pushed['evals/e.md'] ?? '',
  });
  expect(edit.status).toBe(200);
  expect(await evals.runs(workspace, 'e')).toHaveLength(1);

  const stop = await app.post(`${evals.at(workspace, 'e')}/runs/${begun?.id}/stop`, {});
  expect(await stop.json()).toEqual({ ok: true, stopped: true });
  const again = await app.post(`${evals.at(workspace, 'e')}/runs/${begun?.id}/stop`, {});
  expect(await again.json()).toEqual({ ok: true, stopped: false });
  const run = await evals.read(workspace, 'e', begun?.id ?? '');
  expect(run).toMatchObject({
    status: 'stopped',
    ok: false,
    cases: [{ passed: false, error: expect.stringMatching(/^stopped by/) }],
  });
  expect(await app.run(workspace, run.cases[0]?.runId ?? '')).toMatchObject({ status: 'failed', stopped: true });
});

test('nobody lends an eval’s run a hand: no decision, no event, no rerun', async () => {
  const files = tree(input('Parks', expects('parked-at: sign')));
  const slow = '- text: slow\n  delayMs: 60000\n';
  const workspace = await app.workspace({ ...files, 'agents/worker/script.yaml': slow });
  const { evalRunId } = await evals.start(workspace, 'e');
  const run = await evals.until(workspace, 'e', { id: evalRunId, holds: ({ cases }) => cases[0]?.runId != null });
  const at = `/api/workspaces/${workspace}/runs/${run.cases[0]?.runId}`;
  const refused = await app.post(`${at}/approve`, { decision: 'approve' });
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('the run is an eval’s')]);
  expect((await app.post(`${at}/rerun`, {})).status).toBe(409);
  await app.post(`${evals.at(workspace, 'e')}/runs/${evalRunId}/stop`, {});
});

test('an eval is made from a template and runs as it is; a taken name, a missing target and a choice of nothing are refused', async () => {
  const workspace = await app.workspace(tree(input('One', expects('parked-at: sign'), '- tags: [smoke]\n\n')));
  const create = (body: object) => app.post(`/api/workspaces/${workspace}/evals`, body);
  const made = await create({ name: 'fresh', template: 'gates' });
  expect([made.status, await made.json()]).toEqual([
    201,
    expect.objectContaining({ ok: true, path: 'evals/fresh.md', target: 'flows/g', issues: [] }),
  ]);
  expect((await create({ name: 'fresh' })).status).toBe(409);
  expect((await create({ name: 'other', target: 'flows/none' })).status).toBe(404);
  expect((await create({ name: 'Not a name' })).status).toBe(422);
  expect(await evals.start(workspace, 'fresh')).toMatchObject({ cases: 1 });
  const refused = async (body: object) => (await app.post(`${evals.at(workspace, 'e')}/run`, body)).text();
  expect(await refused({ cases: ['Two'] })).toContain('e has no case “Two”; it has “One”');
  expect(await refused({ tags: ['none'] })).toContain('no case matches the selection');
  expect(await evals.start(workspace, 'e', { tags: ['smoke'] })).toMatchObject({ cases: 1 });
  const missing = await app.post(`${evals.at(workspace, 'nothing')}/run`, {});
  expect(missing.status).toBe(404);
});
