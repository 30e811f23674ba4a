import { Webhook } from 'standardwebhooks';
import { beforeAll, expect, test } from 'vitest';
import { evalWork } from '../../src/evals/index.js';
import { signingSecret } from '../../src/notify/sign.js';
import { notifyAll } from '../../src/notify/start-notify-loop.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { evalVerbs } from '../support/evals.js';
import { flow, scripted } from '../support/flows.js';
import { runsOf } from '../support/hooks.js';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import type { MailServer } from '../support/mail-server.js';
import { createMailed, PUBLIC } from '../support/mailed.js';
import { pushBranch } from '../support/previews.js';
import { fileList } from '../support/workspace-app.js';

let app: EngineApp;
let mail: MailServer;
beforeAll(async () => {
  const mailed = await createMailed();
  mail = mailed.mail;
  app = await createEngineApp({ deps: mailed.deps });
});

const SCRIPT =
  '- { when: { step: draft }, text: "Refund 12 EUR to Ann\\nBcc: x@y.test" }\n- { when: { step: boom }, error: refused }\n';

async function started(body: string, notify = '') {
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/g.md': flow(body, notify) });
  const id = await app.start(workspace, 'g');
  return { workspace, id };
}

const GATE = (gate: string) => `## Draft @worker\n\nDraft.\n\n## Sign it\n\n${gate}\n\nIs this <right>?`;
const mailsTo = (address: string) => mail.mails.filter(({ recipients }) => recipients.includes(address));
const rowsOf = (run: string) =>
  app.deps.db.query<{
    event: string;
    channel: string;
    target: string;
    state: string;
    tries: number;
    error: string | null;
  }>(
    'SELECT event, channel, target, state, tries, last_error AS error FROM notification WHERE run_id = $1 ORDER BY id',
    [run],
  );
const parkedAt = (body: string, notify = '') =>
  started(body, notify).then(async (run) => {
    await app.until(run.workspace, run.id, (one) => one.status === 'awaiting-approval');
    return run;
  });

test('a mail of a gate: its subject, a text and an HTML part, and links that open a page and decide by its form', async () => {
  const to = 'ann@mail.example';
  const { workspace, id } = await parkedAt(GATE(`- approve: [${to}]\n- timeout: 1d`));
  await notifyAll(app.deps);
  const [first, ...more] = mailsTo(to);
  expect(more).toEqual([]);
  expect(first?.subject).toBe('Refund 12 EUR to Ann');
  expect(first?.headers.get('bcc')).toBeUndefined();
  expect(first?.headers.get('content-type')).toMatchObject({ value: 'multipart/alternative' });
  const link = /https:\/\/box\.example\/api\/approve\/\S+/.exec(first?.text ?? '')?.[0] ?? '';
  expect(first?.text).toContain('Is this <right>?');
  expect(first?.text).toContain(`${link}&decision=reject`);
  expect(String(first?.html)).toContain('Is this &lt;right&gt;?');
  expect(String(first?.html)).toContain(`href="${link.replaceAll('&', '&amp;')}"`);
  const path = link.slice(PUBLIC.length);
  const page = await app.get(path, { as: null, headers: { accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Is this &lt;right&gt;?')]);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  const decided = await app.request(path, {
    as: null,
    method: 'POST',
    body: new URLSearchParams({ decision: 'approve' }),
  });
  expect(decided.status).toBe(200);
  expect((await app.ended(workspace, id)).steps[1]?.decision).toMatchObject({ decision: 'approve', by: to });
  expect(await rowsOf(id)).toEqual([
    { event: 'approval.waiting', channel: 'mail', target: to, state: 'sent', tries: 1, error: null },
  ]);
});

async function receiver(respond = (): number => 204): Promise<LocalServer> {
  return startLocalServer((_request, response) => {
    response.statusCode = respond();
    response.end();
  });
}

test('security 11: a release address that a run says is in no mail and no POST with its token', async () => {
  const ops = 'ops-release@x.test';
  const hook = await startLocalServer((_request, response) => void response.writeHead(204).end());
  const body =
    '## Ask\n\n- wait: event\n\n## Sign it\n\n- approve: human\n\nFrom {{steps.ask.event.url}}\n\n## After @worker\n\nGo.';
  const run = await started(
    body,
    `notify: { email: ${ops}, url: "${hook.url}/in", events: [approval.waiting, run.failed] }\n`,
  );
  const { waiting } = await app.until(run.workspace, run.id, (one) => one.waiting.length > 0);
  const url = new URL(waiting[0]?.releaseUrl ?? '');
  const token = url.searchParams.get('token') ?? '';
  await app.post(url.pathname + url.search, { url: url.href }, { as: null });
  await app.until(run.workspace, run.id, (one) => one.status === 'awaiting-approval');
  await app.post(`/api/workspaces/${run.workspace}/runs/${run.id}/approve`, { decision: 'reject', note: url.href });
  await app.ended(run.workspace, run.id);
  await notifyAll(app.deps);
  const told = [
    ...mailsTo(ops).map((one) => `${one.subject} ${one.text} ${one.html}`),
    ...hook.requests.map((one) => one.body),
  ];
  expect(told.length).toBeGreaterThan(1);
  for (const one of told) {
    expect(one).toContain('token=…');
    expect(one).not.toContain(token);
  }
});

test('a POST is signed the Standard Webhooks way, carries the links, and is tried again under the same id', async () => {
  let refused = 2;
  const server = await receiver(() => (refused-- > 0 ? 503 : 204));
  const { workspace, id } = await parkedAt(GATE('- approve: human'), `notify: { url: "${server.url}/in?key=1" }\n`);
  await notifyAll(app.deps);
  const [row] = await rowsOf(id);
  expect(row).toMatchObject({
    state: 'pending',
    tries: 1,
    error: '127.0.0.1 answered 503'.replace('127.0.0.1', new URL(server.url).host),
  });
  for (let round = 0; round < 2; round += 1) {
    await app.deps.db.query(`UPDATE notification SET due_at = now() - interval '1 s' WHERE run_id = $1`, [id]);
    await notifyAll(app.deps);
  }
  expect(await rowsOf(id)).toMatchObject([{ state: 'sent', tries: 3 }]);
  expect(server.requests).toHaveLength(3);
  expect(new Set(server.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  const { headers, body } = server.requests[2] ?? { headers: {}, body: '' };
  const secret = signingSecret(app.deps.keys.signing, app.tenant, 0);
  const told = new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, string>;
  expect(told).toMatchObject({
    event: 'approval.waiting',
    account: app.tenant,
    workspace,
    run: id,
    step: 'sign_it',
    subject: 'Refund 12 EUR to Ann',
    runUrl: `${PUBLIC}/api/workspaces/${workspace}/runs/${id}`,
    rejectUrl: `${told.approveUrl}&decision=reject`,
  });
  const decided = await app.post(
    (told.approveUrl ?? '').slice(PUBLIC.length),
    { decision: 'reject', note: 'no' },
    { as: null },
  );
  expect(decided.status).toBe(200);
  expect((await app.ended(workspace, id)).error).toBe('rejected by webhook: no');
});

test('security 1: a worker that dies over a mail leaves it to the next one, and what was noted is made of once', async () => {
  const to = 'lease@mail.example';
  const { id } = await parkedAt(GATE(`- approve: [${to}]`));
  mail.refuse(1);
  await Promise.all([notifyAll(app.deps), notifyAll(app.deps), notifyAll(app.deps)]);
  expect(await rowsOf(id)).toMatchObject([{ state: 'pending', tries: 1, error: expect.stringContaining('try later') }]);
  // As a worker leaves it that took it and died: the lease ends.
  await app.deps.db.query(`UPDATE notification SET tries = 2, due_at = now() + interval '1 hour' WHERE run_id = $1`, [
    id,
  ]);
  await notifyAll(app.deps);
  expect(mailsTo(to)).toHaveLength(0);
  await app.deps.db.query(`UPDATE notification SET due_at = now() - interval '1 s' WHERE run_id = $1`, [id]);
  await Promise.all([notifyAll(app.deps), notifyAll(app.deps), notifyAll(app.deps)]);
  expect(mailsTo(to)).toHaveLength(1);
  expect(await rowsOf(id)).toMatchObject([{ state: 'sent', tries: 3 }]);
});

test.each([
  ['a mail that its server refuses for good', 'mail', 550],
  ['a mail that its server puts off', 'mail', 451],
  ['a POST to a receiver that says it is gone', 'post', 410],
  ['a POST to a receiver that fails', 'post', 404],
])('%s: what is for good ends at once and is told to admins, the rest is tried again', async (_what, channel, code) => {
  const server = await receiver(() => code);
  const to = `for-good-${code}@mail.example`;
  const notify = channel === 'mail' ? `{ email: ${to} }` : `{ url: "${server.url}" }`;
  if (channel === 'mail') mail.refuse(1, code);
  const { workspace, id } = await started('## Boom @worker\n\nBreak.', `notify: ${notify}\n`);
  await app.ended(workspace, id);
  await notifyAll(app.deps);
  const isFinal = code === 550 || code === 410;
  const list = (await (await app.get('/api/notifications?limit=50')).json()) as { notifications: { run: string }[] };
  expect(list.notifications.find(({ run }) => run === id)).toMatchObject({
    channel,
    state: isFinal ? 'failed' : 'pending',
    tries: 1,
    nextAt: isFinal ? null : expect.any(String),
    lastError: expect.stringContaining(channel === 'mail' ? 'did not accept it' : `answered ${code}`),
  });
});

test('events are told as they were chosen; a gate that is decided is told no more', async () => {
  const failed = await started('## Boom @worker\n\nBreak.', 'notify: { email: ops@mail.example }\n');
  await app.ended(failed.workspace, failed.id);
  const quiet = await started('## Draft @worker\n\nDraft.', 'notify: { email: ops@mail.example }\n');
  await app.ended(quiet.workspace, quiet.id);
  const loud = await started(
    '## Draft @worker\n\nDraft.',
    'notify: { email: [ops@mail.example], events: [run.completed] }\n',
  );
  await app.ended(loud.workspace, loud.id);
  const late = await parkedAt(GATE('- approve: [late@mail.example]'));
  await app.post(`/api/workspaces/${late.workspace}/runs/${late.id}/approve`, { decision: 'approve' });
  await notifyAll(app.deps);
  expect((await rowsOf(failed.id)).map(({ event }) => event)).toEqual(['run.failed']);
  expect(await rowsOf(quiet.id)).toEqual([]);
  expect((await rowsOf(loud.id)).map(({ event, target }) => [event, target])).toEqual([
    ['run.completed', 'ops@mail.example'],
  ]);
  expect(
    mailsTo('ops@mail.example')
      .map(({ subject }) => subject)
      .toSorted(),
  ).toEqual(['Refund 12 EUR to Ann', 'g: the run failed']);
  const [notices] = await app.deps.db.query<{ n: number }>('SELECT count(*)::int AS n FROM notice');
  expect(notices?.n).toBe(0);
});

test('an eval’s run and a preview tell nobody', async () => {
  const { workspace, id } = await parkedAt(GATE('- approve: [none@mail.example]'));
  await app.deps.db.query('DELETE FROM notice');
  const note = () =>
    app.deps.db.query(
      `INSERT INTO run_event (run_id, seq, type, data) SELECT id, last_seq + 100, 'run.failed', '{}' FROM run WHERE id = $1`,
      [id],
    );
  const count = async () => (await app.deps.db.query('SELECT 1 FROM notice')).length;
  await app.deps.db.query(`UPDATE run SET mode = 'eval' WHERE id = $1`, [id]);
  await note();
  expect(await count()).toBe(0);
  await app.deps.db.query(`UPDATE run SET mode = 'normal', last_seq = last_seq + 1 WHERE id = $1`, [id]);
  await app.deps.db.query(`UPDATE workspace SET preview_of = id WHERE name = $1`, [workspace]);
  await note();
  expect(await count()).toBe(0);
  await app.deps.db.query(`UPDATE workspace SET preview_of = NULL WHERE name = $1`, [workspace]);
  await app.deps.db.query('UPDATE run SET last_seq = last_seq + 1 WHERE id = $1', [id]);
  await note();
  expect(await count()).toBe(1);
});

test('admins see what became of each, send a test, and get a secret that signs from then on, shown once', async () => {
  const server = await receiver();
  expect((await app.post('/api/notifications/test', {})).status).toBe(409);
  await app.patch('/api/account', { notify: { url: server.url, email: 'admins@mail.example' } });
  const tested = await app.post('/api/notifications/test', {});
  expect(await tested.json()).toEqual({
    results: [
      { channel: 'mail', target: 'admins@mail.example', sent: true, reason: null },
      { channel: 'post', target: server.url, sent: true, reason: null },
    ],
  });
  expect(mailsTo('admins@mail.example')[0]?.subject).toContain('a test of notifications');
  const { secret } = (await (await app.post('/api/notifications/secret')).json()) as { secret: string };
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  await app.post('/api/notifications/test', {});
  const { headers, body } = server.requests.at(-1) ?? { headers: {}, body: '' };
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({ event: 'test' });
  const list = (await (await app.get('/api/notifications?limit=1')).json()) as {
    notifications: object[];
    next: string;
  };
  expect(list.notifications).toHaveLength(1);
  const rest = (await (await app.get(`/api/notifications?limit=200&cursor=${list.next}`)).json()) as {
    notifications: { id: string }[];
  };
  expect(rest.notifications.map(({ id }) => id)).not.toContain((list.notifications[0] as { id: string }).id);
  expect(JSON.stringify([list, rest])).not.toContain('token=');
  await app.patch('/api/account', { notify: null });
});

const EVAL_CASE = (title: string, expected: string) =>
  `## ${title}\n\n### Input\n\nWrite.\n\n### Expect\n\n- contains: ${expected}\n\n`;

test('security 1: an eval that failed is told by mail and POST and starts who listens, once; one that passed or was stopped is not', async () => {
  const server = await receiver();
  const notify = `notify: { email: qa@mail.example, url: "${server.url}", events: [eval.failed] }`;
  const tree = (expected: string) => ({
    ...scripted(SCRIPT),
    'AGENTS.md': `---\nmodels: { default: scripted/demo }\n${notify}\n---\n\nBe brief.\n`,
    'flows/g.md': flow('## Draft @worker\n\nDraft.'),
    'flows/heard.md': flow('## Nap\n\n- wait: 1s\n\nNap.', 'trigger: event\nevent: eval.failed\n'),
    'evals/e.md': `---\nname: e\ndescription: X.\ntarget: flows/g\ntrigger: manual\n---\n\n${EVAL_CASE('Good', 'Refund')}${EVAL_CASE('Bad', expected)}`,
  });
  const evals = evalVerbs(app);
  const workspace = await app.workspace(tree('unicorn'));
  const failed = await evals.whole(workspace, 'e');
  // As a worker does whose report was lost.
  await Promise.all([1, 2, 3].map(() => evalWork.end(app.deps, failed.id)));
  await evalWork.close(app.deps, failed.id);
  // Over a live run nothing is deployed.
  const heard = async () => (await runsOf(app, workspace)).filter(({ trigger }) => trigger.kind === 'event');
  await expect.poll(async () => (await heard()).length).toBe(1);
  for (const { id } of await heard()) await app.ended(workspace, id);
  const deployed = await app.post(`/api/workspaces/${workspace}/deploy`, { files: fileList(tree('Refund')) });
  expect(deployed.status).toBe(200);
  expect((await evals.whole(workspace, 'e')).ok).toBe(true);
  await app.stopWorker();
  const { evalRunId } = await evals.start(workspace, 'e');
  expect((await app.post(`${evals.at(workspace, 'e')}/runs/${evalRunId}/stop`)).status).toBe(200);
  const lost = await evals.start(workspace, 'e');
  await evalWork.close(app.deps, lost.evalRunId);
  await notifyAll(app.deps);
  await app.restartWorker({});

  await expect.poll(async () => (await heard()).length).toBe(2);
  const common = { event: 'eval.failed', eval: 'e', trigger: 'manual', cases: 2, skipped: 0 };
  expect((await heard()).map(({ input }) => input)).toMatchObject([
    { ...common, evalRunId: failed.id, status: 'completed', passed: 1, failed: 1, failedCases: ['Bad'], error: null },
    {
      ...common,
      evalRunId: lost.evalRunId,
      status: 'failed',
      passed: 0,
      failed: 2,
      error: 'the eval run was cut short',
    },
  ]);
  const told = mailsTo('qa@mail.example').toSorted((one, two) => one.subject?.localeCompare(two.subject ?? '') ?? 0);
  expect(told.map(({ subject }) => subject)).toEqual([
    `${workspace}: 1 of 2 cases of the eval e failed`,
    `${workspace}: the eval e failed`,
  ]);
  expect(told[0]?.text).toMatch(/Bad: contains: unicorn: [\s\S]*Workspace: [\s\S]*Eval run: \w+ of e/);
  expect(told[0]?.text).not.toContain('Good');
  expect(told[1]?.text).toContain('the eval run was cut short');
  const posted = server.requests.map(({ headers, body }) =>
    new Webhook(signingSecret(app.deps.keys.signing, app.tenant, 0)).verify(body, headers as Record<string, string>),
  );
  expect(posted).toHaveLength(2);
  expect(posted).toContainEqual(
    expect.objectContaining({
      ...{ event: 'eval.failed', workspace, run: null, flow: null, eval: 'e', evalRun: failed.id },
      subject: `${workspace}: 1 of 2 cases of the eval e failed`,
      runUrl: `${PUBLIC}/api/workspaces/${workspace}/evals/e/runs/${failed.id}`,
    }),
  );
});

test('an eval of too many runs fails as a deploy begins it, and is told; in a preview nobody is', async () => {
  const many = Array.from({ length: 21 }, (_, at) => EVAL_CASE(`Case ${at}`, 'x')).join('');
  const header = 'name: e\ndescription: X.\ntarget: flows/g\ntrigger: push\nrepeat: 100';
  const files = {
    ...scripted(SCRIPT),
    'flows/g.md': flow('## Draft @worker\n\nDraft.'),
    'AGENTS.md': `---\nmodels: { default: scripted/demo }\nnotify: { email: many@mail.example, events: [eval.failed] }\n---\n\nBe brief.\n`,
  };
  const workspace = await app.workspace(files);
  const tree = { ...files, 'evals/e.md': `---\n${header}\n---\n\n${many}` };
  expect((await app.post(`/api/workspaces/${workspace}/deploy`, { files: fileList(tree) })).status).toBe(200);
  const preview = await pushBranch(app, { workspace, branch: 'b', files: tree });
  for (const name of [workspace, preview.name]) {
    expect(await evalVerbs(app).runs(name, 'e')).toMatchObject([{ status: 'failed' }]);
  }
  await notifyAll(app.deps);
  const told = mailsTo('many@mail.example');
  expect(told.map(({ subject, text }) => [subject, text])).toEqual([
    [`${workspace}: the eval e failed`, expect.stringContaining('come to more than 2000 runs: split the eval')],
  ]);
});

test('a refused deploy is told to whom chose so, and a dry run is not', async () => {
  const files = (text: string) => ({ ...scripted(SCRIPT), 'flows/g.md': flow(text) });
  const workspace = await app.workspace(files('## Draft @worker\n\nDraft.'));
  await app.patch(`/api/workspaces/${workspace}`, {
    notify: { email: 'dev@mail.example', events: ['deploy.refused'] },
  });
  const list = fileList(files('## Draft @nobody\n\nDraft.'));
  for (const dryRun of [true, false])
    expect((await app.post(`/api/workspaces/${workspace}/deploy`, { files: list, dryRun })).status).toBe(422);
  await notifyAll(app.deps);
  const told = mailsTo('dev@mail.example');
  expect(told.map(({ subject }) => subject)).toEqual([`${workspace}: a deploy was refused`]);
  expect(told[0]?.text).toContain(workspace);
});

test('a preview’s run that somebody started tells those whom its gate names, and not whom `notify` does', async () => {
  const source = await app.workspace(scripted(SCRIPT));
  const gate = flow(GATE('- approve: [tries@mail.example]'), 'notify: { email: live@mail.example }\n');
  const files = { ...scripted(SCRIPT), 'flows/g.md': gate };
  const { name } = await pushBranch(app, { workspace: source, branch: 'b', files });
  const id = await app.start(name, 'g');
  await app.until(name, id, (one) => one.status === 'awaiting-approval');
  await notifyAll(app.deps);
  expect(await rowsOf(id)).toMatchObject([{ event: 'approval.waiting', target: 'tries@mail.example', state: 'sent' }]);
  const [sent] = mailsTo('tries@mail.example');
  expect(sent?.text).toContain(name);
});
