import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { decideGates } from '../support/drive-gates.js';
import { flow, scripted } from '../support/flows.js';
import { historiesOf, ownTemporal } from '../support/own-temporal.js';

/** A history is long from 60 events on, and the server ends a workflow that gets beyond 450. */
const LIMITS = { 'limit.historyCount.suggestContinueAsNew': 60, 'limit.historyCount.error': 450 };

/** Hundreds of rounds, one after the other. */

let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let app: EngineApp;
beforeAll(async () => {
  temporal = await ownTemporal(LIMITS);
  app = await createEngineApp({ temporal: temporal.at });
});
afterAll(() => temporal.close());

/** The executions of a run, one for each beginning anew. Every signal of a run is in one of them. */
async function executions(id: string) {
  const list = await historiesOf(temporal.client, id);
  return list.map(({ events }) => ({
    signals: events?.filter((event) => event.workflowExecutionSignaledEventAttributes).length ?? 0,
  }));
}

/** The step with that id has completed. */
const completed =
  (...ids: string[]) =>
  (run: RunView) =>
    ids.every((id) => run.steps.some((step) => step.id === id && step.status === 'completed'));

const LOOP = '## Draft @worker\n\nA.\n\n## Gate\n\n- approve: human\n- on_reject: draft\n- max_rounds: 60\n\nOK?';

test('a loop of 60 gates goes on in one execution after another, and each decision counts once', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: done }\n'), 'flows/loop.md': flow(LOOP) });
  const id = await app.start(workspace, 'loop');
  const run = await decideGates(app, { workspace, id }, (round) => (round < 60 ? 'reject' : 'approve'));
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.steps.map((step) => step.round)).toEqual([60, 60]);
  const list = await executions(id);
  expect(list.length).toBeGreaterThan(3);
  expect(list.reduce((sum, one) => sum + one.signals, 0)).toBe(60);
});

test('200 items that each wait once go on over many executions, and ended ones are not begun again', async () => {
  const script = '- { when: { attempt: 1 }, error: refused }\n- { text: "ok" }\n';
  const items = Array.from({ length: 200 }, (_, index) => index + 1).join(', ');
  const workspace = await app.workspace({
    ...scripted(script),
    'flows/e.md': flow(
      `## Each @worker\n\n- each: [${items}]\n- parallel: 20\n- retry: { max: 2, wait: 1s }\n\nDo {{item}}.`,
    ),
  });
  const id = await app.start(workspace, 'e');
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.steps[0]?.data).toEqual(Array.from({ length: 200 }, () => 'ok'));
  const list = await executions(id);
  expect(list.length).toBeGreaterThan(2);
  const [work] = await app.deps.db.query<{ turn: number; calls: number }>(
    `SELECT max(turn)::int AS turn, (SELECT count(*) FROM call WHERE run_id = $1)::int AS calls FROM lane WHERE run_id = $1`,
    [id],
  );
  expect(work?.calls).toBe(400);
  // Two advances an item and the two of the fork; an execution begins its open lanes and the main one again.
  expect(work?.turn).toBeLessThanOrEqual(402 + (list.length - 1) * 21);
});

const gate = (name: string, rounds: number) =>
  `### ${name}\n\n- approve: human\n- on_reject: ${name.toLowerCase()}\n- max_rounds: ${rounds}\n\nOK?`;

test('the branches of a group park and loop side by side over executions, and `waiting` still tells where it stands', async () => {
  const body = `## Both\n\n${gate('Left', 24)}\n\n${gate('Right', 24)}\n\n### Idle\n\n- approve: human\n\nOK?\n\n## After @worker\n\nGo.`;
  const workspace = await app.workspace({ ...scripted('- { text: done }\n'), 'flows/g.md': flow(body) });
  const id = await app.start(workspace, 'g');
  const parked = await decideGates(app, { workspace, id, isFar: completed('left', 'right') }, (round, step) =>
    step === 'idle' ? null : round < 24 ? 'reject' : 'approve',
  );
  expect(parked.waiting.map((wait) => wait.id)).toEqual(['idle']);
  expect((await executions(id)).length).toBeGreaterThan(2);
  const waiting = () => temporal.client.workflow.getHandle(id).query<readonly string[]>('waiting');
  await expect.poll(waiting).toEqual([expect.stringContaining('idle')]);
  const run = await decideGates(app, { workspace, id }, () => 'approve');
  expect([run.status, run.steps.map((step) => [step.id, step.status, step.round])]).toEqual([
    'completed',
    [
      ['left', 'completed', 24],
      ['right', 'completed', 24],
      ['idle', 'completed', 1],
      ['after', 'completed', 1],
    ],
  ]);
});

test('join: any is won after executions began anew, and what the others had open is closed', async () => {
  const body = `## Race\n\n- join: any\n\n${gate('Fast', 30)}\n\n### Slow\n\n- approve: human\n\nOK?\n\n## After @worker\n\nGo.`;
  const workspace = await app.workspace({ ...scripted('- { text: done }\n'), 'flows/r.md': flow(body) });
  const id = await app.start(workspace, 'r');
  const run = await decideGates(app, { workspace, id }, (round, step) =>
    step === 'slow' ? null : round < 30 ? 'reject' : 'approve',
  );
  expect([run.status, run.waiting, run.steps.map((step) => step.status)]).toEqual([
    'completed',
    [],
    ['completed', 'skipped', 'completed'],
  ]);
  expect((await executions(id)).length).toBeGreaterThan(1);
});

test('a branch does not stand still for the child of another, and the child is never begun twice', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/g.md': flow(`## Both\n\n${gate('Left', 25)}\n\n### Call\n\n- subflow: inner`),
    'flows/inner.md': flow(LOOP),
  });
  const id = await app.start(workspace, 'g');
  const decide = (round: number) => (round < 25 ? 'reject' : 'approve');
  const outer = await decideGates(app, { workspace, id, isFar: completed('left') }, decide);
  expect(outer.steps.map((step) => step.status)).toEqual(['completed', 'running']);
  const child = outer.waiting[0]?.runId ?? '';
  const inner = await decideGates(app, { workspace, id: child }, (round) => (round < 20 ? 'reject' : 'approve'));
  expect(inner.status).toBe('completed');
  expect((await executions(child)).length).toBeGreaterThan(1);
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(await app.deps.db.query('SELECT id FROM run WHERE parent_id = $1', [id])).toHaveLength(1);
});

test('a wait for a time is as long as it was, though executions began anew meanwhile', async () => {
  const workspace = await app.workspace({
    ...scripted('- { when: { attempt: 1 }, error: refused }\n- { text: "ok" }\n'),
    'flows/g.md': flow(`## Both\n\n${gate('Left', 20)}\n\n### Later @worker\n\n- retry: { max: 2, wait: 15s }\n\nGo.`),
  });
  const id = await app.start(workspace, 'g');
  const decide = (round: number) => (round < 20 ? 'reject' : 'approve');
  const run = await decideGates(app, { workspace, id, isFar: completed('left') }, decide);
  expect((await executions(id)).length).toBeGreaterThan(1);
  const ended = run.finishedAt === null ? await app.ended(workspace, id) : run;
  expect(ended.status).toBe('completed');
  const trace = ended.steps[1]?.trace ?? [];
  const [failed, tried] = ['step.retrying', 'step.completed'].map((kind) => trace.find((line) => line.kind === kind));
  const waited = Date.parse(tried?.at ?? '') - Date.parse(failed?.at ?? '');
  expect(waited).toBeGreaterThanOrEqual(15_000);
});

test('a stop ends a run that began anew', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: done }\n'), 'flows/loop.md': flow(LOOP) });
  const id = await app.start(workspace, 'loop');
  const decide = (round: number) => (round < 30 ? 'reject' : null);
  const isFar = (run: RunView) => run.steps[1]?.round === 30 && run.waiting.length > 0;
  await decideGates(app, { workspace, id, isFar }, decide);
  expect((await executions(id)).length).toBeGreaterThan(1);
  expect((await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`)).status).toBe(200);
  await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
  expect((await app.run(workspace, id)).stopped).toBe(true);
});
