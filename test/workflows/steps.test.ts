import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

test('steps run one after the other, each with its output, cost, tokens and timing', async () => {
  const workspace = await app.workspace({
    ...scripted(
      '- { when: { step: one }, text: "first\\nsecond line" }\n- { when: { step: two }, text: "last words" }\n',
    ),
    'flows/two.md': flow('## One @worker\n\nDo one.\n\n## Two @worker\n\nDo two with {{steps.one.result}}.'),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'two', { task: 'go', tags: ['a', 'b'] }));
  expect([run.status, run.error, run.tags]).toEqual(['completed', null, ['a', 'b']]);
  expect(run.steps.map((step) => [step.n, step.id, step.status, step.result])).toEqual([
    [1, 'one', 'completed', 'first\nsecond line'],
    [2, 'two', 'completed', 'last words'],
  ]);
  expect(run.steps[0]?.tokens.output).toBeGreaterThan(0);
  expect(run.steps[0]?.durationMs).toBeGreaterThanOrEqual(0);
  expect(run.summary).toBe('last words');
  expect(run.budgetUsd).toBeUndefined();
});

test('a step whose condition is false is skipped, and later text sees it empty', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/w.md': flow(
      "## One @worker\n\n- when: input == 'yes'\n\nA.\n\n## Two @worker\n\n- when: steps.one.status == 'skipped'\n\nB {{steps.one.result}}.",
    ),
  });
  const no = await app.ended(workspace, await app.start(workspace, 'w', { task: 'no' }));
  const yes = await app.ended(workspace, await app.start(workspace, 'w', { task: 'yes' }));
  expect(no.steps.map((step) => step.status)).toEqual(['skipped', 'completed']);
  expect(yes.steps.map((step) => step.status)).toEqual(['completed', 'skipped']);
});

test('a condition that names a missing path fails its step and says which', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/w.md': flow('## One @worker\n\nA.\n\n## Two @worker\n\n- when: steps.one.data.amount > 3\n\nB.'),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'w'));
  expect(run.status).toBe('failed');
  expect(run.error).toContain('steps.one.data');
  expect(run.steps[1]?.status).toBe('failed');
});

test('from skips the steps before it, and one past the end is refused', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/f.md': flow('## One @worker\n\nA.\n\n## Two @worker\n\nB.\n\n## Three @worker\n\nC.'),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'f', { from: 2 }));
  expect(run.steps.map((step) => step.status)).toEqual(['skipped', 'completed', 'completed']);
  const refused = await app.post(`/api/workspaces/${workspace}/flows/f/run`, { from: 4 });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ error: expect.stringContaining('3 steps') });
});

test('a JSON answer is parsed and validated, repaired twice at most, and then fails the step', async () => {
  const good = '- { text: "```json\\n{\\"score\\": 8}\\n```" }\n';
  const repaired = '- { when: { turn: 1 }, text: "score is 8" }\n- { when: { turn: 2 }, text: "{\\"score\\": 8}" }\n';
  const bad = '- { text: "{\\"score\\": \\"eight\\"}" }\n- { text: no }\n- { text: nope }\n- { text: still no }\n';
  const body = '## One @worker\n\n- output: json\n\nScore it.\n\n```yaml schema\nscore: integer\n```';
  const results = [];
  for (const script of [good, repaired, bad]) {
    const workspace = await app.workspace({ ...scripted(script), 'flows/j.md': flow(body) });
    results.push(await app.ended(workspace, await app.start(workspace, 'j')));
  }
  const [first, second, third] = results;
  expect(first?.steps[0]?.data).toEqual({ score: 8 });
  expect(second?.steps[0]?.data).toEqual({ score: 8 });
  expect(third?.status).toBe('failed');
  expect(third?.steps[0]?.error).toContain('does not fit the schema');
});

test('an input that does not fit the declared one is refused with the path', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: "ok {{input}}" }\n'),
    'flows/i.md': flow('## One @worker\n\nFor {{input.order}}.', 'input:\n  order: string\n  amount: number\n'),
  });
  const refused = await app.post(`/api/workspaces/${workspace}/flows/i/run`, { task: { order: 7, amount: 1 } });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ error: expect.stringContaining('order') });
  const run = await app.ended(workspace, await app.start(workspace, 'i', { task: { order: 'A-1', amount: 1 } }));
  expect(run.status).toBe('completed');
});

test('an agent alone is a run of one step under the flow agents/<name>', async () => {
  const workspace = await app.workspace(scripted('- { text: "I did it" }\n'));
  const response = await app.post(`/api/workspaces/${workspace}/agents/worker/run`, { task: 'do it' });
  expect(response.status).toBe(202);
  const { runId, steps } = (await response.json()) as { runId: string; steps: number };
  const run = await app.ended(workspace, runId);
  expect([steps, run.flow, run.status, run.summary]).toEqual([1, 'agents/worker', 'completed', 'I did it']);
});

test('until goes back with the result as feedback, keeps the earlier round, and fails when its rounds are used up', async () => {
  const script =
    '- { when: { step: write, round: 1 }, text: "draft one" }\n- { when: { step: write }, text: "draft two" }\n' +
    '- { when: { step: check, round: 1 }, text: "{\\"score\\": 3}" }\n- { when: { step: check, round: 2 }, text: "{\\"score\\": 9}" }\n' +
    '- { when: { step: check, round: 3 }, text: "{\\"score\\": 1}" }\n';
  const body = (until: string) =>
    `## Write @worker\n\nWrite.\n\n## Check @worker\n\n- output: json\n- until: ${until}\n- back_to: write\n- max_rounds: 2\n\nCheck.\n\n` +
    '```yaml schema\nscore: integer\n```';
  const workspace = await app.workspace({
    ...scripted(script),
    'flows/u.md': flow(body('self.data.score >= 8')),
    'flows/never.md': flow(body('self.data.score >= 80')),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'u'));
  expect(run.error).toBe(null);
  expect(run.steps[0]).toMatchObject({ result: 'draft two', round: 2, rounds: [{ result: 'draft one' }] });
  const never = await app.ended(workspace, await app.start(workspace, 'never'));
  expect(never.status).toBe('failed');
  expect(never.steps[1]?.round).toBe(3);
});

test('each runs the step once an item, in the order of the items', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: "did {{input}}" }\n'),
    'flows/e.md': flow(
      '## Each @worker\n\n- each: input.items\n- parallel: 3\n\nHandle {{item}}.',
      'input:\n  items(array): string\n',
    ),
  });
  const run = await app.ended(workspace, await app.start(workspace, 'e', { task: { items: ['a', 'b', 'c', 'd'] } }));
  expect(run.error).toBe(null);
  expect(run.steps[0]?.items?.length).toBe(4);
  expect(run.steps[0]?.data).toHaveLength(4);
  const none = await app.ended(workspace, await app.start(workspace, 'e', { task: { items: [] } }));
  expect([none.status, none.steps[0]?.data]).toEqual(['completed', []]);
});
