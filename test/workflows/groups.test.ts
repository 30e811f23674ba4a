import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const GROUP =
  '## Facts\n\n### Left @worker\n\nL.\n\n### Right @worker\n\nR.\n\n## After @worker\n\nUse {{steps.left.result}}.';

test('the branches of a group run side by side, and the next step sees both results', async () => {
  const script =
    '- { when: { step: left }, text: "from the left", delayMs: 900 }\n- { when: { step: right }, text: "from the right", delayMs: 900 }\n- { text: end }\n';
  const workspace = await app.workspace({ ...scripted(script), 'flows/g.md': flow(GROUP) });
  const run = await app.ended(workspace, await app.start(workspace, 'g'));
  expect(run.error).toBe(null);
  const [left, right, after] = run.steps;
  expect([left?.group, right?.group, after?.group]).toEqual(['facts', 'facts', null]);
  expect([left?.result, right?.result]).toEqual(['from the left', 'from the right']);
  // They overlapped: each began before the other ended.
  expect(Date.parse(left?.startedAt ?? '')).toBeLessThan(Date.parse(right?.finishedAt ?? ''));
  expect(Date.parse(right?.startedAt ?? '')).toBeLessThan(Date.parse(left?.finishedAt ?? ''));
});

test('the first failed branch fails the group once its siblings have ended', async () => {
  const script =
    '- { when: { step: left }, error: refused }\n- { when: { step: right }, text: "still done", delayMs: 500 }\n- { text: end }\n';
  const workspace = await app.workspace({
    ...scripted(script),
    'flows/g.md': flow(GROUP),
    'flows/go.md': flow(GROUP.replace('### Left @worker', '### Left @worker\n\n- on_fail: continue')),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'g'));
  expect(run.status).toBe('failed');
  expect(run.steps.map((step) => step.status)).toEqual(['failed', 'completed', 'pending']);
  expect(run.error).toContain('Left');
  const goes = await app.ended(workspace, await app.start(workspace, 'go'));
  expect(goes.steps.map((step) => step.status)).toEqual(['failed', 'completed', 'completed']);
});

test('join: any takes the first completed branch and closes what the others had open', async () => {
  const body =
    '## Race\n\n- join: any\n\n### Fast @worker\n\nF.\n\n### Slow\n\n- approve: human\n\nS?\n\n## After @worker\n\nGo.';
  const workspace = await app.workspace({ ...scripted('- { text: quick, delayMs: 300 }\n'), 'flows/r.md': flow(body) });
  const run = await app.ended(workspace, await app.start(workspace, 'r'));
  expect(run.error).toBe(null);
  expect(run.steps.map((step) => [step.id, step.status])).toEqual([
    ['fast', 'completed'],
    ['slow', 'skipped'],
    ['after', 'completed'],
  ]);
  expect(run.waiting).toEqual([]);
});

test('from inside a group skips the branches before it', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: done }\n'), 'flows/g.md': flow(GROUP) });
  const run = await app.ended(workspace, await app.start(workspace, 'g', { from: 2 }));
  expect(run.steps.map((step) => step.status)).toEqual(['skipped', 'completed', 'completed']);
});

test('a subflow runs as a run of its own, its cost and result become the step’s, and its gate parks only itself', async () => {
  const workspace = await app.workspace({
    ...scripted('- { when: { step: inner }, text: "from inside" }\n- { text: "outer end" }\n'),
    'flows/outer.md': flow(
      '## Call\n\n- subflow: inner\n- with: { order: "{{input}}", n: 2 }\n\n## End @worker\n\nUse {{steps.call.result}}.',
    ),
    'flows/inner.md': flow(
      '## Gate\n\n- approve: human\n\nOK?\n\n## Inner @worker\n\nFor {{input.order}}.',
      'input:\n  order: string\n  n: number\n',
    ),
  });
  const id = await app.start(workspace, 'outer', { task: 'A-7' });
  const outer = await app.until(workspace, id, (run) => run.waiting.some((wait) => wait.kind === 'subflow'));
  expect(outer.status).toBe('running');
  const child = outer.waiting[0]?.runId ?? '';
  const inner = await app.until(workspace, child, (run) => run.status === 'awaiting-approval');
  expect([inner.flow, inner.parentId, inner.input]).toEqual(['inner', id, { order: 'A-7', n: 2 }]);
  expect((await app.post(`/api/workspaces/${workspace}/runs/${child}/approve`, { decision: 'approve' })).status).toBe(
    200,
  );
  const run = await app.ended(workspace, id);
  expect(run.error).toBe(null);
  expect(run.steps[0]?.result).toBe('from inside');
  const list = (await (await app.get(`/api/workspaces/${workspace}/runs`)).json()) as { runs: { id: string }[] };
  expect(list.runs.map((one) => one.id)).toEqual([id]);
});

test('a subflow that fails fails its step with the child’s error', async () => {
  const workspace = await app.workspace({
    ...scripted('- { error: refused, text: "no such account" }\n'),
    'flows/outer.md': flow('## Call\n\n- subflow: inner'),
    'flows/inner.md': flow('## Inner @worker\n\nGo.'),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'outer'));
  expect(run.status).toBe('failed');
  expect(run.error).toContain('no such account');
});
