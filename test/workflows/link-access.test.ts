import { beforeAll, expect, test } from 'vitest';
import { tickPark } from '../../src/engine/index.js';
import { expandNotices } from '../../src/notify/expand.js';
import { notifyAll } from '../../src/notify/start-notify-loop.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { linkPath } from '../support/links.js';
import type { MailServer, ReceivedMail } from '../support/mail-server.js';
import { createMailed } from '../support/mailed.js';
import { createPerson, type Person } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';

let app: EngineApp;
let mail: MailServer;
let elsewhere: string;
beforeAll(async () => {
  const mailed = await createMailed();
  mail = mailed.mail;
  app = await createEngineApp({ deps: mailed.deps });
  elsewhere = await app.workspace(scripted(SCRIPT));
});

const WORK = 'the secret work';
const SCRIPT = `- { text: "${WORK}" }\n`;

async function parked(gate: string, notify = '') {
  const body = `## Draft @worker\n\nDraft.\n\n## Sign\n\n${gate}\n\nIs {{steps.draft.result}} right?`;
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/f.md': flow(body, notify) });
  return { workspace, ...(await startedIn(workspace)) };
}

async function startedIn(workspace: string) {
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM park WHERE run_id = $1', [id]);
  const link = (to: string) =>
    linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park: row?.id ?? '', to });
  return { id, park: row?.id ?? '', link };
}

const team = async (method: 'patch' | 'delete', { id }: Person, body?: object) => {
  const owner = await asPerson(app, app.owner);
  const path = `/api/team/members/${id}`;
  const response = await (method === 'delete' ? app.delete(path, owner) : app.patch(path, body, owner));
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
};

/** All that a link answers, as a page and as JSON, read and decided by every kind of body. */
async function answersOf(path: string): Promise<[number, string][]> {
  const json = { as: null, headers: { accept: 'application/json' } };
  const html = { as: null, headers: { accept: 'text/html' } };
  const body = new URLSearchParams({ decision: 'approve' });
  const answers = [
    await app.get(path, json),
    await app.get(path, html),
    await app.post(path, { decision: 'approve' }, json),
    await app.request(path, { ...html, method: 'POST', body }),
  ];
  return Promise.all(answers.map(async (answer): Promise<[number, string]> => [answer.status, await answer.text()]));
}

async function expectShut(path: string): Promise<void> {
  for (const [status, text] of await answersOf(path)) {
    expect([status, text]).toEqual([403, expect.stringContaining('who may not decide this gate')]);
    expect(text).not.toContain(WORK);
    expect(text).not.toMatch(/SHA-256|digest|Draft/);
  }
}

const opens = async (path: string) =>
  (await app.get(path, { as: null, headers: { accept: 'text/html' } })).status === 200;
const mailsTo = (email: string) => mail.mails.filter(({ recipients }) => recipients.includes(email)).length;

type Loss = readonly [name: string, lose: (person: Person) => Promise<void>];
const LOSSES: readonly Loss[] = [
  ['removed', (person) => team('delete', person)],
  ['restricted to other workspaces', (person) => team('patch', person, { workspaces: [elsewhere] })],
  ['demoted to viewer', (person) => team('patch', person, { role: 'viewer' })],
];
const NAMINGS: readonly (readonly [name: string, (email: string) => readonly [gate: string, notify: string]])[] = [
  ['their address', (email) => [`- approve: [${email}]`, '']],
  ['their role', () => ['- approve: role:editor', '']],
  ['notify', (email) => ['- approve: human', `notify: { email: ${email} }\n`]],
];

test.each(LOSSES.flatMap((loss) => NAMINGS.map((naming) => [loss[0], naming[0], loss[1], naming[1]] as const)))(
  'security 27: once %s, a member whom a gate names by %s neither sees the work by their link nor decides',
  async (_loss, _naming, lose, naming) => {
    const person = await createPerson(app, 'admin');
    const { workspace, id, link } = await parked(...naming(person.email));
    expect(await opens(link(person.email))).toBe(true);
    await lose(person);
    await expectShut(link(person.email));
    await expectShut(link(person.email.toUpperCase()));
    const run = await app.run(workspace, id);
    expect([run.status, run.waiting[0]?.decided]).toEqual(['awaiting-approval', 0]);
  },
);

test('security 27: a link for the owner, or for a role, ends with the role of its recipient', async () => {
  const admin = await createPerson(app, 'admin');
  const byRole = await parked('- approve: role:admin');
  const byOwner = await parked('- approve: owner');
  expect([await opens(byRole.link(admin.email)), await opens(byOwner.link(app.owner.email))]).toEqual([true, true]);
  await expectShut(byOwner.link(admin.email));
  await team('patch', admin, { role: 'editor' });
  await expectShut(byRole.link(admin.email));
  const [status] = (await answersOf(byOwner.link(app.owner.email)))[2] ?? [];
  expect(status).toBe(200);
});

test('a viewer who was removed may not decide though they might not before either, and an outsider whom notify no longer names sees nothing', async () => {
  const viewer = await createPerson(app, 'viewer');
  const told = await parked('- approve: human', `notify: { email: [${viewer.email}, out@else.example] }\n`);
  await expectShut(told.link(viewer.email));
  await team('delete', viewer);
  await expectShut(told.link(viewer.email));
  expect(await opens(told.link('out@else.example'))).toBe(true);
  await expectShut(told.link('nobody@else.example'));
});

test('a removed member who is invited and joins again decides by their link again', async () => {
  const person = await createPerson(app, 'editor');
  const { workspace, id, link } = await parked(`- approve: [${person.email}]`);
  await team('delete', person);
  await expectShut(link(person.email));
  await app.deps.db.query(
    `INSERT INTO member (id, tenant_id, email, role, password_hash, workspaces) VALUES ($1, $2, $3, 'editor', '', '{}')`,
    [`${person.id}-2`, app.tenant, person.email],
  );
  const [status] = (await answersOf(link(person.email)))[2] ?? [];
  expect(status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test.each(LOSSES)(
  'once %s, a member is mailed nothing of a gate: not its opening, its reminders or its escalation',
  async (name, lose) => {
    // What the gates before have to say is said to those who were there.
    await notifyAll(app.deps);
    const people = [
      await createPerson(app, 'admin'),
      await createPerson(app, 'admin'),
      await createPerson(app, 'admin'),
    ];
    const [named = '', told = '', next = ''] = people.map(({ email }) => email);
    const gate = `- approve: [${named}]\n- remind: 1h\n- escalate: { after: 1h, to: ${next} }`;
    const notify = `notify: { email: ${told}, events: [approval.waiting, approval.reminder, run.failed] }\n`;
    const { workspace, id, park } = await parked(gate, notify);
    await notifyAll(app.deps);
    expect([named, told, next].map(mailsTo)).toEqual([1, 1, 0]);
    for (const person of people) await lose(person);
    // The gate that stands open reminds and escalates, and another one opens.
    await app.deps.db.query(
      `UPDATE park SET remind_at = now() - interval '1 s', escalate_at = now() - interval '1 s' WHERE id = $1`,
      [park],
    );
    await tickPark(app.deps, park);
    const kinds = (await app.run(workspace, id)).steps[1]?.trace.map(({ kind }) => kind);
    for (const kind of ['approval.reminder', 'approval.escalated']) expect(kinds).toContain(kind);
    const second = await startedIn(workspace);
    await app.post(`/api/workspaces/${workspace}/runs/${second.id}/stop`);
    await notifyAll(app.deps);
    // A viewer whom `notify` names still reads of the runs, without a further link to decide by.
    const reads = name === 'demoted to viewer';
    expect([mailsTo(named), mailsTo(next), mailsTo(told) > 1]).toEqual([1, 0, reads]);
    const isLinked = ({ recipients, text }: ReceivedMail) =>
      recipients.includes(told) && (text?.includes('/api/approve/') ?? false);
    expect(mail.mails.filter(isLinked)).toHaveLength(1);
  },
);

test('a mail that waits for its next try when its recipient is removed is dropped', async () => {
  const person = await createPerson(app, 'editor');
  const { id } = await parked(`- approve: [${person.email}]`);
  while ((await expandNotices(app.deps)) > 0);
  await team('delete', person);
  await notifyAll(app.deps);
  const rows = await app.deps.db.query(
    `SELECT state, last_error AS why FROM notification WHERE run_id = $1 AND target = $2`,
    [id, person.email],
  );
  expect(rows).toEqual([{ state: 'dropped', why: 'the recipient has lost access to the workspace' }]);
  expect(mailsTo(person.email)).toBe(0);
});

test('a test of notifications mails no member who was removed or does not see the workspace, and names them', async () => {
  const gone = await createPerson(app, 'editor');
  const restricted = await createPerson(app, 'editor');
  await team('delete', gone);
  await team('patch', restricted, { workspaces: [elsewhere] });
  const named = ['out@else.example', gone.email.toUpperCase(), restricted.email];
  expect((await app.patch('/api/account', { notify: { email: named } })).status).toBe(200);
  const workspace = await app.workspace(scripted(SCRIPT));
  const lost = { sent: false, reason: 'the recipient has lost access to the workspace' };
  const sent = { sent: true, reason: null };
  for (const [body, outcomes] of [
    [{ workspace }, [sent, lost, lost]],
    [{}, [sent, lost, sent]],
  ] as const) {
    const results = named.map((target, i) => ({ channel: 'mail', target, ...outcomes[i] }));
    const tested = await app.post('/api/notifications/test', body);
    expect([tested.status, await tested.json()]).toEqual([200, { results }]);
  }
  const mailed = mail.mails.flatMap(({ recipients }: ReceivedMail) => recipients.map((to) => to.toLowerCase()));
  expect(mailed).not.toContain(gone.email.toLowerCase());
  expect(mailed.filter((to) => to === restricted.email.toLowerCase())).toHaveLength(1);
  await app.patch('/api/account', { notify: null });
});
