import { Client, Connection } from '@temporalio/client';
import { beforeAll, expect, test } from 'vitest';
import type { ScheduleBody } from '../../src/contract/schedules.js';
import { examine } from '../../src/observe/index.js';
import { mintKey } from '../../src/people/index.js';
import { fireSchedule, reconcileSchedules, startWaiting, syncSchedules } from '../../src/triggers/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { pushBranch } from '../support/previews.js';
import { createPerson, type SignedIn, signIn } from '../support/sessions.js';
import { testTemporal } from '../support/temporal.js';
import { bodyOf, fileList, type Tree } from '../support/workspace-app.js';

const scheduled = (keys: string, body = '## One @worker\n\nGo.') =>
  `---\ndescription: A flow.\ntrigger: schedule\n${keys}---\n\n${body}\n`;
const GATE = '## Sign\n\n- approve: human\n\nOK?';
const AGENTS = scripted('- { text: done }\n');
const DAY = 86_400_000;

let app: EngineApp;
const shift = 0;
let temporal: Client;
beforeAll(async () => {
  app = await createEngineApp({ deps: { clock: { now: () => Date.now() + shift } } });
  const { address, namespace } = testTemporal();
  temporal = new Client({ connection: Connection.lazy({ address }), namespace });
});

const files = (own: Tree): Tree => ({ ...AGENTS, ...own });
const deploy = (workspace: string, own: Tree) =>
  app.post(`/api/workspaces/${workspace}/deploy`, { files: fileList(files(own)), force: true });
const change = (workspace: string, body: object, more: object = {}) =>
  app.post('/api/schedule', { workspace, flow: 'f', ...body }, more);
async function view(workspace: string, name = 'f'): Promise<ScheduleBody | undefined> {
  const { schedules } = (await bodyOf(app.get('/api/schedule?limit=200'))) as { schedules: ScheduleBody[] };
  return schedules.find((one) => one.workspace === workspace && one.flow === name);
}
async function idOf(workspace: string): Promise<string> {
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [workspace]);
  return row?.id ?? '';
}
async function handleOf(workspace: string, name = 'f') {
  return temporal.schedule.getHandle(`schedule/${app.taskQueue}/${await idOf(workspace)}/${name}`);
}
/** The moments that Temporal says come next. */
async function nextOf(workspace: string): Promise<string[]> {
  const { info } = await (await handleOf(workspace)).describe();
  return info.nextActionTimes.slice(0, 3).map((at) => at.toISOString());
}
/** As if nothing had fired since then. */
async function settledAt(workspace: string, at: number): Promise<void> {
  await app.deps.db.query(
    `UPDATE schedule SET settled_until = to_timestamp($2::float8 / 1000) WHERE workspace_id = $1`,
    [await idOf(workspace), at],
  );
}
async function runsOf(workspace: string) {
  return app.deps.db.query<{
    id: string;
    input: { scheduled_for: string };
    trigger: { kind: string };
    started_by: object;
    status: string;
  }>('SELECT id, input, trigger, started_by, status FROM run WHERE workspace_id = $1 ORDER BY id', [
    await idOf(workspace),
  ]);
}
async function ref(workspace: string) {
  return { workspace: await idOf(workspace), flow: 'f' };
}

const hourIn = (timeZone: string, at: string) =>
  Number(new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' }).format(new Date(at)));

test('security 7: a deploy makes the schedule in Temporal, at the times that are shown; each later one, pause and delete move it', async () => {
  const workspace = await app.workspace(
    files({ 'flows/f.md': scheduled('cron: "30 2 * * *"\ntimezone: Europe/Berlin\n') }),
  );
  await syncSchedules(app.deps);
  const first = await view(workspace);
  expect(first).toMatchObject({
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    catchUp: 'last',
    overlap: 'skip',
    enabled: true,
    paused: false,
    lastRun: null,
    firings: [],
  });
  expect(first?.next).toHaveLength(3);
  expect(await nextOf(workspace)).toEqual(first?.next);

  await deploy(workspace, { 'flows/f.md': scheduled('cron: "0 12 * * 1"\ncatch_up: all\noverlap: queue\n') });
  await syncSchedules(app.deps);
  const second = await view(workspace);
  expect(second).toMatchObject({ cron: '0 12 * * 1', timezone: 'UTC', catchUp: 'all', overlap: 'queue' });
  expect(await nextOf(workspace)).toEqual(second?.next);

  expect((await change(workspace, { action: 'pause' })).status).toBe(200);
  await syncSchedules(app.deps);
  expect((await (await handleOf(workspace)).describe()).state.paused).toBe(true);
  expect(await view(workspace)).toMatchObject({ paused: true, next: [] });
  expect((await change(workspace, { action: 'resume' })).status).toBe(200);

  const set = await change(workspace, { action: 'set', cron: '0 6 * * *', timezone: 'Asia/Tokyo' });
  expect((await bodyOf(set)).schedule).toMatchObject({ cron: '0 6 * * *', timezone: 'Asia/Tokyo', paused: false });
  const bad = await change(workspace, { action: 'set', cron: '@every 1s' });
  expect(bad.status).toBe(422);
  await syncSchedules(app.deps);
  expect(await nextOf(workspace)).toEqual((await view(workspace))?.next);

  await deploy(workspace, { 'flows/f.md': scheduled('cron: "0 6 * * *"\nenabled: false\n') });
  await syncSchedules(app.deps);
  await expect(nextOf(workspace)).rejects.toThrow();
  expect(await view(workspace)).toMatchObject({ enabled: false, next: [] });
  await deploy(workspace, { 'flows/f.md': flow('## One @worker\n\nGo.') });
  expect(await view(workspace)).toBeUndefined();
});

test('the zone is the flow’s, the workspace’s, the account’s, the owner’s, UTC, and a change of it moves the schedule', async () => {
  const workspace = await app.workspace(files({ 'flows/f.md': scheduled('cron: "0 9 * * *"\n') }));
  const zone = async () => (await view(workspace))?.timezone;
  expect(await zone()).toBe('UTC');
  await app.deps.db.query(`UPDATE member SET timezone = 'Asia/Tokyo' WHERE id = $1`, [app.owner.id]);
  expect(await zone()).toBe('Asia/Tokyo');
  await app.request('/api/account', {
    method: 'PATCH',
    body: JSON.stringify({ timezone: 'America/New_York' }),
    headers: { 'content-type': 'application/json' },
  });
  expect(await zone()).toBe('America/New_York');
  await syncSchedules(app.deps);
  expect(await nextOf(workspace)).toEqual((await view(workspace))?.next);
  await deploy(workspace, {
    'AGENTS.md': '---\ntimezone: Europe/Paris\n---\n\n# W\n',
    'flows/f.md': scheduled('cron: "0 9 * * *"\n'),
  });
  expect(await zone()).toBe('Europe/Paris');
  await app.deps.db.query('UPDATE member SET timezone = NULL WHERE id = $1', [app.owner.id]);
  await app.deps.db.query('UPDATE tenant SET timezone = NULL WHERE id = $1', [app.tenant]);
});

test('security 7: a transfer of the account moves what fires in the owner’s own zone, here and in Temporal, and nothing else', async () => {
  const [plain, own] = await Promise.all([
    app.workspace(files({ 'flows/f.md': scheduled('cron: "0 9 * * *"\n') })),
    app.workspace(files({ 'flows/f.md': scheduled('cron: "0 9 * * *"\ntimezone: Europe/Paris\n') })),
  ]);
  const before = await signIn(app, await createPerson(app, 'owner'));
  const heir = await createPerson(app, 'admin');
  const next = await signIn(app, heir);
  const zoneOf = async (person: SignedIn, timezone: string | null) =>
    expect((await person.call('POST', '/api/auth/timezone', { timezone })).status).toBe(200);
  const shown = async (workspace: string, timezone: string) => {
    const { timezone: zone, next: times = [] } = (await view(workspace)) ?? {};
    expect([zone, new Set(times.map((at) => hourIn(timezone, at)))]).toEqual([timezone, new Set([9])]);
    await syncSchedules(app.deps);
    expect(await nextOf(workspace)).toEqual(times);
    return times;
  };
  await zoneOf(before, 'Asia/Tokyo');
  await zoneOf(next, 'America/New_York');
  const [tokyo, paris] = [await shown(plain, 'Asia/Tokyo'), await shown(own, 'Europe/Paris')];
  expect((await before.call('POST', '/api/team/transfer', { to: heir.id })).status).toBe(200);
  expect(await shown(plain, 'America/New_York')).not.toEqual(tokyo);
  expect(await shown(own, 'Europe/Paris')).toEqual(paris);
  // Who was the owner moves nothing any more.
  await zoneOf(before, 'Australia/Sydney');
  await shown(plain, 'America/New_York');
  await zoneOf(next, null);
  await shown(plain, 'UTC');
  expect((await next.call('POST', '/api/team/transfer', { to: app.owner.id })).status).toBe(200);
  await shown(plain, 'Australia/Sydney');
  await zoneOf(before, null);
});

test('security 7: Temporal’s word starts exactly one run, whose input is the time; the same word again, and forty at once, start none', async () => {
  const workspace = await app.workspace(files({ 'flows/f.md': scheduled('cron: "* * * * *"\noverlap: allow\n') }));
  await syncSchedules(app.deps);
  await settledAt(workspace, Date.now() - 10 * 60_000);
  await (await handleOf(workspace)).trigger();
  await expect.poll(async () => (await runsOf(workspace)).length).toBeGreaterThan(0);
  const [run] = await runsOf(workspace);
  expect(run).toMatchObject({ trigger: { kind: 'schedule' }, started_by: { kind: 'clock', person: null } });
  expect(run?.input.scheduled_for).toMatch(/:00\.000Z$/);
  const at = Date.parse(run?.input.scheduled_for ?? '');
  expect((await app.ended(workspace, run?.id ?? '')).status).toBe('completed');
  const [fired, missed] = (await view(workspace))?.firings.slice(-2) ?? [];
  expect(fired).toMatchObject({ outcome: 'started', runId: run?.id });
  expect(missed).toMatchObject({ outcome: 'skipped', times: 9, until: new Date(at - 60_000).toISOString() });

  const another = await app.workspace(files({ 'flows/f.md': scheduled('cron: "* * * * *"\n') }));
  const now = Math.floor(Date.now() / 60_000) * 60_000;
  await settledAt(another, now - 1);
  const of = await ref(another);
  await Promise.all(Array.from({ length: 40 }, () => fireSchedule(app.deps, of, now)));
  const times = (await runsOf(another)).map((one) => one.input.scheduled_for);
  expect(new Set(times).size).toBe(times.length);
  expect(times.length).toBeGreaterThan(0);
});

test.each([
  ['last', '', 1, 3],
  ['none', 'catch_up: none\n', 0, 4],
  ['all', 'catch_up: all\noverlap: allow\n', 4, 0],
])(
  'after four days without a worker, catch_up %s makes up for what it says, and the rest is told as skipped',
  async (_name, keys, runs, skipped) => {
    const hour = new Date(Date.now() - 3 * 3_600_000).getUTCHours();
    const workspace = await app.workspace(files({ 'flows/f.md': scheduled(`cron: "0 ${hour} * * *"\n${keys}`) }));
    await settledAt(workspace, Date.now() - 4 * DAY);
    await fireSchedule(app.deps, await ref(workspace), 0);
    expect(await runsOf(workspace)).toHaveLength(runs);
    const firings = (await view(workspace))?.firings ?? [];
    expect(firings.filter(({ outcome }) => outcome === 'skipped').reduce((sum, { times }) => sum + times, 0)).toBe(
      skipped,
    );
  },
);

/** A flow of every minute, fired once, whose run waits at its gate. */
async function firedOnce(overlap: string) {
  const workspace = await app.workspace(
    files({ 'flows/f.md': scheduled(`cron: "* * * * *"\noverlap: ${overlap}\n`, GATE) }),
  );
  const of = await ref(workspace);
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  await settledAt(workspace, minute - 1);
  await fireSchedule(app.deps, of, minute);
  const [first] = await runsOf(workspace);
  return { workspace, of, minute, first };
}

test('overlap: skip leaves a time out while the last run goes, queue lets it wait, cancel ends the last, allow starts beside it', async () => {
  const counts: Record<string, number> = {};
  for (const overlap of ['skip', 'queue', 'cancel', 'allow']) {
    const { workspace, of, minute, first } = await firedOnce(overlap);
    await fireSchedule(app.deps, of, minute + 120_000);
    const runs = await runsOf(workspace);
    counts[overlap] = runs.length;
    const [latest] = (await view(workspace))?.firings ?? [];
    const expected = { skip: 'skipped', queue: 'waiting', cancel: 'started', allow: 'started' }[overlap];
    expect(latest?.outcome, overlap).toBe(expected);
    if (overlap === 'cancel') expect(runs[0]?.status).toBe('failed');
    if (overlap !== 'queue') continue;
    await startWaiting(app.deps);
    expect(await runsOf(workspace)).toHaveLength(1);
    await app.post(`/api/workspaces/${workspace}/runs/${first?.id}/stop`, {});
    await Promise.all([startWaiting(app.deps), startWaiting(app.deps)]);
    expect(await runsOf(workspace)).toHaveLength(2);
    expect((await view(workspace))?.firings[0]).toMatchObject({ outcome: 'started' });
  }
  expect(counts).toEqual({ skip: 1, queue: 1, cancel: 2, allow: 2 });
});

test('a rerun of a scheduled run is a person’s: its schedule neither ends it, nor waits for it, nor calls it its last', async () => {
  for (const overlap of ['cancel', 'skip']) {
    const { workspace, of, minute, first } = await firedOnce(overlap);
    const path = `/api/workspaces/${workspace}/runs/${first?.id}`;
    await app.post(`${path}/stop`, {});
    const { runId } = await bodyOf(app.post(`${path}/rerun`, {}));
    expect((await view(workspace))?.lastRun?.id, overlap).toBe(first?.id);
    await fireSchedule(app.deps, of, minute + 60_000);
    expect((await view(workspace))?.firings[0], overlap).toMatchObject({ outcome: 'started' });
    const [again] = await app.deps.db.query<{ finished: unknown }>(
      'SELECT finished_at AS finished FROM run WHERE id = $1',
      [runId],
    );
    expect(again, overlap).toEqual({ finished: null });
  }
});

test('a flow that is paused or switched off never fires; one whose month is spent says so, and one that was changed begins anew', async () => {
  const workspace = await app.workspace(files({ 'flows/f.md': scheduled('cron: "* * * * *"\n') }));
  const of = await ref(workspace);
  await settledAt(workspace, Date.now() - 5 * 60_000);
  await change(workspace, { action: 'pause' });
  await fireSchedule(app.deps, of, 0);
  await change(workspace, { action: 'resume' });
  await fireSchedule(app.deps, of, 0);
  await settledAt(workspace, Date.now() - 5 * 60_000);
  await deploy(workspace, { 'flows/f.md': scheduled('cron: "* * * * *"\nenabled: false\n') });
  await fireSchedule(app.deps, of, 0);
  await deploy(workspace, { 'flows/f.md': scheduled('cron: "*/2 * * * *"\n') });
  await fireSchedule(app.deps, of, 0);
  const early = await runsOf(workspace);
  expect(early.filter(({ input }) => Date.parse(input.scheduled_for) < Date.now() - 2 * 60_000)).toEqual([]);

  await deploy(workspace, {
    'AGENTS.md': '---\nbudget: $0.01\n---\n\n# W\n',
    'flows/f.md': scheduled('cron: "* * * * *"\n'),
  });
  await app.deps.db.query(
    `INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, nano, source) VALUES ($1, $2, 'r', 's', 'model', 20000000, 'test')`,
    [app.tenant, of.workspace],
  );
  await settledAt(workspace, Date.now() - 5 * 60_000);
  await fireSchedule(app.deps, of, 0);
  const [latest] = (await view(workspace))?.firings ?? [];
  expect(latest).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('budget'), runId: null });
  expect((await change(workspace, { action: 'run-now' })).status).toBe(402);
});

test('run-now under one Idempotency-Key starts one run, and what was set is audited in the transaction of its deploy', async () => {
  const workspace = await app.workspace(files({ 'flows/f.md': scheduled('cron: "0 9 * * *"\n') }));
  const keyed = (body: object) => change(workspace, body, { headers: { 'idempotency-key': `once-${workspace}` } });
  const [first, again] = [await keyed({ action: 'run-now' }), await keyed({ action: 'run-now' })];
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await again.json()).toEqual(await first.json());
  expect(await runsOf(workspace)).toHaveLength(1);
  expect((await keyed({ action: 'pause' })).status).toBe(422);
  expect((await change(workspace, { action: 'set', cron: '0 10 * * *' })).status).toBe(200);
  expect((await change(workspace, { action: 'set', cron: '@every 1s' })).status).toBe(422);
  const entries = await app.deps.db.query<{ cron: string; together: boolean }>(
    `SELECT a.detail->>'cron' AS cron, a.xmin = r.xmin AS together FROM audit_entry a, workspace w
      JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
      WHERE w.name = $1 AND a.action = 'schedule.set' AND a.detail->>'workspace' = $1`,
    [workspace],
  );
  expect(entries).toEqual([{ cron: '0 10 * * *', together: true }]);
});

test('run-now starts a run of the person’s; scoped members see their own schedules, viewers change none', async () => {
  const workspace = await app.workspace(files({ 'flows/f.md': scheduled('cron: "0 9 * * *"\n') }));
  const { runId } = await bodyOf(change(workspace, { action: 'run-now' }));
  const [run] = await runsOf(workspace);
  expect(run).toMatchObject({ id: runId, trigger: { kind: 'schedule' }, started_by: { kind: 'key' } });
  expect((await view(workspace))?.lastRun).toMatchObject({ id: runId });
  expect((await change(workspace, { action: 'pause', cron: '0 8 * * *' })).status).toBe(422);
  expect((await change(workspace, { action: 'set' })).status).toBe(422);
  expect((await change(workspace, { action: 'pause' }, { as: await app.keyFor('viewer') })).status).toBe(403);
  expect((await change('no-such', { action: 'pause' })).status).toBe(404);
  const scoped = await createPerson(app, 'admin');
  await app.deps.db.query(`UPDATE member SET all_workspaces = false, workspaces = '{another}' WHERE id = $1`, [
    scoped.id,
  ]);
  const as = (await mintKey(app.deps.db, { tenant: app.tenant, label: 'x', role: 'admin', mintedBy: scoped })).key;
  expect((await bodyOf(app.get('/api/schedule', { as }))).schedules).toEqual([]);
  const plain = await app.workspace(files({ 'flows/f.md': flow('## One @worker\n\nGo.') }));
  const said = async (...asked: Parameters<typeof change>) => {
    const response = await change(...asked);
    return [response.status, ((await response.json()) as { error: string }).error];
  };
  const none = [404, 'no such schedule'];
  for (const one of [workspace, plain]) expect(await said(one, { action: 'pause' }, { as })).toEqual(none);
  expect(await said(plain, { action: 'pause', flow: 'g' })).toEqual(none);
  for (const action of ['pause', 'run-now']) {
    const add = 'flow f has no schedule: add `trigger: schedule` and `cron:` to it';
    expect(await said(plain, { action })).toEqual([404, add]);
  }
  const rows = await app.deps.db.query<{ action: string }>(
    `SELECT action FROM audit_entry WHERE action LIKE 'schedule.%' AND detail->>'workspace' = $1`,
    [workspace],
  );
  expect(rows).toEqual([{ action: 'schedule.run-now' }]);
});

test('what drifts in Temporal is found by the doctor and made again; a deleted workspace and a preview have none', async () => {
  const workspace = await app.workspace(files({ 'flows/f.md': scheduled('cron: "0 9 * * *"\n') }));
  const everyMinute = files({ 'flows/f.md': scheduled('cron: "* * * * *"\n') });
  const { name: preview } = await pushBranch(app, { workspace, branch: 'often', files: everyMinute });
  expect(await view(preview)).toBeUndefined();
  const { runId, schedule } = await bodyOf(change(preview, { action: 'run-now' }));
  expect(schedule).toMatchObject({ workspace: preview, cron: '* * * * *', next: [], enabled: true });
  expect((await app.ended(preview, runId)).status).toBe('completed');
  await reconcileSchedules(app.deps);
  const doctor = async () =>
    (await examine({ deps: app.deps, root: null }, 0)).filter(({ check }) => check === 'schedules');
  await expect.poll(doctor, { interval: 500 }).toEqual([]);

  await (await handleOf(workspace)).delete();
  await temporal.schedule.create({
    scheduleId: `schedule/${app.taskQueue}/nobody/f`,
    spec: { calendars: [{ hour: 3 }] },
    action: {
      type: 'startWorkflow',
      workflowType: 'fireSchedule',
      args: [{ workspace: 'nobody', flow: 'f' }],
      taskQueue: app.taskQueue,
    },
  });
  await expect.poll(async () => (await doctor()).length, { interval: 500 }).toBe(2);
  await reconcileSchedules(app.deps);
  expect(await nextOf(workspace)).toEqual((await view(workspace))?.next);
  await expect.poll(doctor, { interval: 500 }).toEqual([]);

  const handle = await handleOf(workspace);
  expect((await app.request(`/api/workspaces/${workspace}?force=true`, { method: 'DELETE' })).status).toBe(200);
  await syncSchedules(app.deps);
  await expect(handle.describe()).rejects.toThrow();
  expect(await app.deps.db.query('SELECT 1 FROM schedule WHERE gone')).toEqual([]);
});
