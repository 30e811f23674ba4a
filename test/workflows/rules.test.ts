import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

test('an inner loop has its rounds anew in each round of the loop around it', async () => {
  const script = [
    ...[1, 3].map((round) => `- { when: { step: review, round: ${round} }, text: '{"ok": false}' }`),
    `- { when: { step: review }, text: '{"ok": true}' }`,
    '- { text: a draft }',
  ].join('\n');
  const body =
    '## Draft @worker\n\nWrite.\n\n## Review @worker\n\n- output: json\n- until: self.data.ok\n- back_to: draft\n- max_rounds: 1\n\nReview.\n\n' +
    '## Sign\n\n- approve: human\n- on_reject: draft\n- max_rounds: 1\n\nRight?';
  const workspace = await app.workspace({ ...scripted(script), 'flows/f.md': flow(body) });
  const id = await app.start(workspace, 'f');
  const at = `/api/workspaces/${workspace}/runs/${id}/approve`;
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  expect((await app.post(at, { decision: 'reject', note: 'warmer' })).status).toBe(200);
  const { gate } = await app.until(
    workspace,
    id,
    (run) => run.status === 'awaiting-approval' && run.steps[2]?.round === 2,
  );
  expect((await app.post(at, { decision: 'approve', ...gate })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.steps.map((step) => step.round)).toEqual([4, 4, 2]);
});

test('a loop that is used up in one round of the loop around it fails there', async () => {
  const script = `- { when: { step: review }, text: '{"ok": false}' }\n- { text: a draft }\n`;
  const body =
    '## Draft @worker\n\nWrite.\n\n## Review @worker\n\n- output: json\n- until: self.data.ok\n- back_to: draft\n- max_rounds: 2\n\nReview.';
  const workspace = await app.workspace({ ...scripted(script), 'flows/f.md': flow(body) });
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect([run.status, run.steps[1]?.round]).toEqual(['failed', 3]);
  expect(run.error).toContain('did not hold after 2 rounds');
});

test('the branch that failed first gives the reason of its group, whatever its place', async () => {
  const script =
    '- { when: { step: left }, error: refused, delayMs: 900 }\n- { when: { step: right }, error: refused }\n';
  const body = '## Both\n\n### Left @worker\n\nL.\n\n### Right @worker\n\nR.';
  const workspace = await app.workspace({ ...scripted(script), 'flows/g.md': flow(body) });
  const run = await app.ended(workspace, await app.start(workspace, 'g'));
  expect(run.steps.map(({ status }) => status)).toEqual(['failed', 'failed']);
  expect(run.error).toContain('Right');
});

test('a call that the timeout of its step cuts has its end in the journal, and its program is gone', async () => {
  const script =
    '- { when: { turn: 1 }, calls: [{ tool: Bash, args: { command: "sleep 300" } }] }\n- { text: never }\n';
  const workspace = await app.workspace({
    ...scripted(script),
    'flows/f.md': flow('## Sleep @worker\n\n- timeout: 5s\n\nSleep.'),
  });
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect(run.error).toContain('the step took longer than its timeout');
  const calls = await app.deps.db.query(
    `SELECT name, state, result->'isError' AS failed FROM call WHERE run_id = $1 AND kind = 'tool'`,
    [id],
  );
  expect(calls).toEqual([{ name: 'Bash', state: 'finished', failed: true }]);
  await expect.poll(() => app.deps.db.query('SELECT 1 FROM sandbox_process WHERE run_id = $1', [id])).toEqual([]);
});
