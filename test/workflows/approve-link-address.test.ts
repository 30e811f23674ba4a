import { beforeAll, expect, test } from 'vitest';
import type { OpenedLink } from '../../src/contract/approve.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { linkPath } from '../support/links.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const BOSS = 'boss@else.example';
const HTML = { accept: 'text/html,*/*;q=0.8' };
const JSON_ONLY = { accept: 'application/json' };
const read = async (path: string) =>
  (await (await app.get(path, { as: null, headers: JSON_ONLY })).json()) as OpenedLink;
const page = (path: string) => app.get(path, { as: null, headers: HTML });
const post = (path: string, body: object) => app.post(path, body, { as: null, headers: JSON_ONLY });
const submit = (path: string, fields: Record<string, string>) =>
  app.request(path, { as: null, method: 'POST', headers: HTML, body: new URLSearchParams(fields) });

/** A run that waits at its gate, and the path of its link for an address. */
async function parked() {
  const workspace = await app.workspace({
    ...scripted('- { when: { step: send }, text: "sent" }\n'),
    'flows/g.md': flow(`## Sign it\n\n- approve: [${BOSS}]\n\nGood?\n\n## Send @worker\n\nSend it.`),
  });
  const id = await app.start(workspace, 'g');
  await app.until(workspace, id, (one) => one.status === 'awaiting-approval');
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM park WHERE run_id = $1', [id]);
  const link = (to: string, other: object = {}) =>
    linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park: row?.id ?? '', to, ...other });
  return { workspace, id, link };
}

test('an approve link with the name of another workspace is 404 and decides nothing, before and after a rename of its own', async () => {
  const other = await app.workspace({});
  const { workspace, id, link } = await parked();
  const renamed = `${workspace}-new`;
  const expectRefused = async (path: string) => {
    const json = { as: null, headers: JSON_ONLY };
    const answers = [
      await app.get(path, json),
      await post(path, { decision: 'approve' }),
      await post(path, { decision: 'perhaps', more: 1 }),
    ];
    for (const answer of answers)
      expect([answer.status, await answer.json()]).toEqual([404, { error: 'no such run', code: 'not-found' }]);
    expect((await page(path)).status).toBe(404);
    expect((await submit(path, { decision: 'approve' })).status).toBe(404);
    // A wrong token is refused as everywhere: the answer does not say which workspaces there are.
    expect((await app.get(path.replace(/token=[^&]+/, 'token=x'), json)).status).toBe(401);
  };
  await expectRefused(link(BOSS, { workspace: other }));
  expect(await read(link(BOSS))).toMatchObject({ workspace, runId: id, mayDecide: true });
  expect((await app.patch(`/api/workspaces/${workspace}`, { name: renamed })).status).toBe(200);
  await expectRefused(link(BOSS, { workspace: other }));
  expect((await app.run(renamed, id)).status).toBe('awaiting-approval');
  for (const path of [link(BOSS), link(BOSS, { workspace: renamed })])
    expect(await read(path)).toMatchObject({ workspace: renamed, runId: id, mayDecide: true });
  const decided = await post(link(BOSS, { workspace: renamed }), { decision: 'approve' });
  expect([decided.status, await decided.json()]).toEqual([200, { ok: true, decided: 1, need: 1 }]);
  expect((await app.ended(renamed, id)).status).toBe('completed');
});

test('a link and a release address stay good when an older workspace takes the former name, and reach no run of it', async () => {
  const older = await parked();
  const { workspace, id, link } = await parked();
  const waits = await app.workspace({ 'flows/w.md': flow('## Wait\n\n- wait: event\n\nWait.') });
  const waiting = await app.start(waits, 'w');
  const run = await app.until(waits, waiting, (one) => one.waiting[0]?.releaseUrl !== undefined);
  const release = new URL(run.waiting[0]?.releaseUrl ?? '', 'http://box.example');
  const rename = async (from: string, name: string) =>
    expect((await app.patch(`/api/workspaces/${from}`, { name })).status).toBe(200);
  for (const name of [workspace, waits]) {
    await rename(name, `${name}-new`);
    const now = name === workspace ? older.workspace : workspace;
    await rename(now, name);
  }
  expect(await read(link(BOSS))).toMatchObject({ workspace: `${workspace}-new`, runId: id, mayDecide: true });
  expect(await read(older.link(BOSS))).toMatchObject({ workspace: waits, runId: older.id });
  expect((await post(link(BOSS), { decision: 'approve' })).status).toBe(200);
  expect((await app.ended(`${workspace}-new`, id)).status).toBe('completed');
  const released = await app.post(release.pathname + release.search, { ok: true }, { as: null });
  expect([released.status, await released.json()]).toEqual([200, { ok: true, runId: waiting, step: 'wait' }]);
  expect((await app.ended(`${waits}-new`, waiting)).status).toBe('completed');
  expect((await app.run(waits, older.id)).status).toBe('awaiting-approval');
});
