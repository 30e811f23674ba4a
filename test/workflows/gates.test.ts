import { beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { tickPark } from '../../src/engine/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { createPerson } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

async function parked(gate: string) {
  const workspace = await app.workspace({
    ...scripted('- { text: "a draft" }\n'),
    'flows/g.md': flow(`## Draft @worker\n\nDraft.\n\n## Sign\n\n- approve: human\n${gate}\n\nRight?`),
  });
  const id = await app.start(workspace, 'g');
  const run = await app.until(workspace, id, (one) => one.status === 'awaiting-approval');
  return { workspace, id, run, at: `/api/workspaces/${workspace}/runs/${id}` };
}

const kinds = (run: RunView, kind: string) =>
  run.steps.flatMap((step) => step.trace.filter((line) => line.kind === kind));

async function parkOf(id: string): Promise<string> {
  const [park] = await app.deps.db.query<{ id: string }>('SELECT id FROM park WHERE run_id = $1', [id]);
  return park?.id ?? '';
}

test('a gate reminds again and again until it is decided, and opens once', async () => {
  const { workspace, id, at } = await parked('- remind: 1s');
  const reminded = await app.until(workspace, id, (run) => kinds(run, 'approval.reminder').length >= 2);
  expect(reminded.status).toBe('awaiting-approval');
  await app.post(`${at}/approve`, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect(run.status).toBe('completed');
  expect([kinds(run, 'approval.requested').length, kinds(run, 'step.waiting').length]).toEqual([1, 1]);
  const times = kinds(run, 'approval.reminder').map((line) => Date.parse(line.at));
  expect(times[1] ?? 0).toBeGreaterThanOrEqual((times[0] ?? 0) + 900);
});

test('ticks that are late, doubled or at once remind and escalate once, and keep to the hours that were set', async () => {
  const { workspace, id } = await parked('- remind: 1h\n- escalate: { after: 2h, to: owner }');
  const park = await parkOf(id);
  await tickPark(app.deps, park);
  expect(kinds(await app.run(workspace, id), 'approval.reminder')).toHaveLength(0);
  await app.deps.db.query(
    `UPDATE park SET opened_at = opened_at - interval '330 minutes', remind_at = remind_at - interval '330 minutes',
      escalate_at = escalate_at - interval '330 minutes' WHERE id = $1`,
    [park],
  );
  await Promise.all(Array.from({ length: 10 }, () => tickPark(app.deps, park)));
  const run = await app.run(workspace, id);
  expect([kinds(run, 'approval.reminder').length, kinds(run, 'approval.escalated').length]).toEqual([1, 1]);
  expect(kinds(run, 'approval.escalated')[0]).toMatchObject({ to: 'owner' });
  const [row] = await app.deps.db.query<{ minutes: number; escalate: Date | null }>(
    `SELECT round(extract(epoch FROM remind_at - opened_at) / 60)::int AS minutes, escalate_at AS escalate FROM park WHERE id = $1`,
    [park],
  );
  expect(row).toEqual({ minutes: 360, escalate: null });
});

test('security 2: a tick that comes after the decision, or with it, changes nothing of it', async () => {
  const { workspace, id, at } = await parked('- remind: 1h\n- timeout: 1h');
  const park = await parkOf(id);
  await app.deps.db.query(
    `UPDATE park SET remind_at = now() - interval '1 s', due_at = now() + interval '1 hour' WHERE id = $1`,
    [park],
  );
  const [decided] = await Promise.all([
    app.post(`${at}/approve`, { decision: 'approve' }),
    ...Array.from({ length: 5 }, () => tickPark(app.deps, park)),
  ]);
  expect(decided.status).toBe(200);
  await app.deps.db.query(
    `UPDATE park SET remind_at = now() - interval '1 s', due_at = now() - interval '1 s' WHERE id = $1`,
    [park],
  );
  await tickPark(app.deps, park);
  const run = await app.ended(workspace, id);
  expect(run.steps[1]?.decision).toMatchObject({ decision: 'approve' });
  expect(kinds(run, 'approval.reminder').length).toBeLessThanOrEqual(1);
  expect(kinds(run, 'approval.timeout')).toEqual([]);
});

test('escalate adds its decider after the time, tells once, and the gate still expires', async () => {
  const gate = (after: string, timeout: string) =>
    `## Sign\n\n- approve: [boss@else.example]\n- escalate: { after: ${after}, to: role:admin }\n- timeout: ${timeout}\n\nRight?`;
  const workspace = await app.workspace({
    ...scripted('- { text: "a draft" }\n'),
    'flows/early.md': flow(gate('1h', '2h')),
    'flows/told.md': flow(gate('1s', '1h')),
    'flows/over.md': flow(gate('1s', '2s')),
  });
  const over = await app.start(workspace, 'over');
  const early = await app.start(workspace, 'early');
  await app.until(workspace, early, (run) => run.status === 'awaiting-approval');
  const at = (id: string) => `/api/workspaces/${workspace}/runs/${id}/approve`;
  expect((await app.post(at(early), { decision: 'approve' })).status).toBe(403);
  const id = await app.start(workspace, 'told');
  await app.until(workspace, id, (run) => kinds(run, 'approval.escalated').length === 1);
  const editor = await app.keyFor('editor');
  const refused = await app.post(at(id), { decision: 'approve' }, { as: editor });
  expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([
    403,
    'this gate is decided by boss@else.example or role:admin',
  ]);
  const admin = await asPerson(app, await createPerson(app, 'admin'));
  expect((await app.post(at(id), { decision: 'approve' }, admin)).status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
  const run = await app.ended(workspace, over);
  expect([run.error, kinds(run, 'approval.escalated').length]).toEqual(['rejected: no decision in time', 1]);
});
