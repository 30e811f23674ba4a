import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { linkPath } from '../support/links.js';
import { parkedRun } from '../support/parked-run.js';
import { createPlayedApp } from '../support/played-app.js';
import { createPerson } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp(() => ({ text: 'done' })));
});
afterAll(() => provider.close());

const gate = (approve: string) => `## Sign\n\n- approve: ${approve}\n\nRight?\n\n## Send @worker\n\nSend it.`;
const approve = { decision: 'approve' };
const open = { as: null, headers: { accept: 'application/json' } };

interface Entry {
  readonly kind: string;
  readonly label: string;
  readonly detail: { readonly code: string; readonly reason: string; readonly decision?: string };
}

/** The refused decisions of a run, as the audit has them. */
const refusedOf = (runId: string) =>
  app.deps.db.query<Entry>(
    `SELECT actor->>'kind' AS kind, actor->>'label' AS label, detail FROM audit_entry
      WHERE action = 'run.decide.refused' AND target = $1 ORDER BY id`,
    [runId],
  );

test('a decision that is refused with 403 or 409 is in the audit with its caller and the reason, the same one once', async () => {
  const { id, decide } = await parkedRun(app, gate('[owner]'));
  const viewer = await app.keyFor('viewer');
  for (let n = 0; n < 3; n += 1) {
    expect((await decide(approve, viewer))[0]).toBe(403);
    expect((await decide(approve))[0]).toBe(403);
    expect((await decide({ ...approve, round: 7 }))[0]).toBe(409);
    expect((await decide({ decision: 'reject', step: 2 }))[0]).toBe(409);
  }
  expect(await refusedOf(id)).toMatchObject([
    { kind: 'key', detail: { code: 'forbidden', reason: 'needs role editor' } },
    { kind: 'key', label: 'admin', detail: { code: 'forbidden', decision: 'approve' } },
    { kind: 'key', label: 'admin', detail: { code: 'changed', decision: 'approve' } },
    { kind: 'key', detail: { code: 'conflict', decision: 'reject', step: 2, reason: 'step 2 waits for no decision' } },
  ]);
  const trail = await app.get(`/api/audit?target=${id}&action=run.decide.refused`);
  expect(((await trail.json()) as { entries: object[] }).entries).toHaveLength(4);
});

test('a link whose recipient may no longer decide, and one that comes too late, are refused decisions too', async () => {
  const gone = await createPerson(app, 'editor');
  const { workspace, id } = await parkedRun(app, gate(`[${gone.email}, owner]`));
  const [park] = await app.deps.db.query<{ id: string }>('SELECT id FROM park WHERE run_id = $1', [id]);
  const link = (to: string) =>
    linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park: park?.id ?? '', to });
  const owner = await asPerson(app, app.owner);
  expect((await app.delete(`/api/team/members/${gone.id}`, owner)).status).toBe(200);
  expect((await app.post(link(gone.email), approve, open)).status).toBe(403);
  const form = { ...open, method: 'POST', body: new URLSearchParams(approve) };
  expect((await app.request(link(gone.email), form)).status).toBe(403);
  // To look at it is no decision.
  expect((await app.get(link(gone.email), open)).status).toBe(403);
  expect((await app.post(link(app.owner.email), approve, open)).status).toBe(200);
  expect((await app.post(link(app.owner.email), approve, open)).status).toBe(409);
  expect(await refusedOf(id)).toMatchObject([
    { kind: 'link', label: gone.email, detail: { code: 'forbidden' } },
    { kind: 'link', label: app.owner.email, detail: { code: 'conflict', decision: 'approve' } },
  ]);
});

test('strangers, missing things and bodies that cannot be read leave nothing in the audit', async () => {
  const { workspace, id, at, decide } = await parkedRun(app, gate('human'));
  expect((await app.post(`${at}/approve`, approve, { as: 'sk_wrong' })).status).toBe(401);
  expect((await app.post(`${at}/approve`, approve, { as: null })).status).toBe(401);
  const link = linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park: 'p', to: 'a@else.example' });
  expect((await app.post(link, approve, open)).status).toBe(401);
  const other = await app.workspace({});
  expect((await app.post(`/api/workspaces/${other}/runs/${id}/approve`, approve)).status).toBe(404);
  expect((await decide({ decision: 'perhaps' }))[0]).toBe(422);
  expect(await refusedOf(id)).toEqual([]);
  expect((await decide(approve))[0]).toBe(200);
});

test('a program that asks on and on fills no table: twenty refusals of one caller and run are kept', async () => {
  const { id, decide } = await parkedRun(app, gate('human'));
  for (let step = 2; step < 32; step += 1) expect((await decide({ ...approve, step }))[0]).toBe(409);
  expect(await refusedOf(id)).toHaveLength(20);
  // Another caller has a count of their own.
  expect((await decide({ ...approve, step: 9 }, await app.keyFor('editor')))[0]).toBe(409);
  expect(await refusedOf(id)).toHaveLength(21);
});
