import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import type { Deps } from '../../src/deps.js';
import { signingSecret } from '../../src/notify/sign.js';
import { notifyAll } from '../../src/notify/start-notify-loop.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { formsOfPiece } from '../support/leaks.js';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import type { MailServer, ReceivedMail } from '../support/mail-server.js';
import { createMailed, PUBLIC } from '../support/mailed.js';
import { CLIENT, startOAuthProvider } from '../support/oauth-provider.js';
import { answerInTurns, createPlayedApp } from '../support/played-app.js';
import { recordingLog } from '../support/recording-log.js';
import type { Tree } from '../support/workspace-app.js';

/** Stands in every canary, and nowhere else. */
const PIECE = 'zq4711pelicanqz';
const CANARY = `canary/${PIECE}+"of it"`;

let app: EngineApp;
let provider: FakeProvider;
let mail: MailServer;
beforeAll(async () => {
  const mailed = await createMailed();
  mail = mailed.mail;
  ({ app, provider } = await createPlayedApp(answerInTurns, { deps: mailed.deps }));
});
afterAll(() => provider.close());

const ALL =
  'approval.waiting, approval.reminder, approval.timeout, run.completed, run.failed, budget.warning, budget.reached';
const worker = (more: string): Tree => ({
  'agents/worker.md': `---\nname: worker\ndescription: Works.\ntools: [Bash, Glob]\n${more}---\n\nYou work.\n`,
});
const receiver = () => startLocalServer((_request, response) => void response.writeHead(204).end());
/** Tells that address and that receiver of everything. */
const telling = (to: string, { url }: LocalServer) => `notify: { email: ${to}, url: "${url}/in", events: [${ALL}] }\n`;
const mailsTo = (address: string) => mail.mails.filter(({ recipients }) => recipients.includes(address));
const subjectsTo = (address: string) => mailsTo(address).map(({ subject }) => subject);

async function started(body: string, frontmatter: string, agent = '') {
  const workspace = await app.workspace({ ...worker(agent), 'flows/f.md': flow(body, frontmatter) });
  return { workspace, id: await app.start(workspace, 'f') };
}

/** Waits until the run is as asked, telling all the while. */
async function untilTold({ workspace, id }: { workspace: string; id: string }, holds: (run: RunView) => boolean) {
  return app.until(workspace, id, holds).finally(() => notifyAll(app.deps));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", middot: '' };
/** What a person reads of the HTML part, with the addresses of its links behind their words. */
function readHtml({ html }: ReceivedMail): string {
  return plain(
    String(html)
      .replace(/<a href="([^"]*)">([^<]*)<\/a>/g, '$2: $1 ')
      .replace(/<[^>]*>/g, ' ')
      .replace(/&([a-z]+|#39);/g, (_whole, name: string) => ENTITIES[name] ?? `?${name}?`),
  );
}
const plain = (text: string) => text.replace(/\s+/g, ' ').trim();
const linkIn = ({ text }: ReceivedMail) => /https:\/\/box\.example\/api\/approve\/\S+/.exec(text ?? '')?.[0] ?? '';

function expectWhole(one: ReceivedMail): void {
  expect(one.headers.get('content-type')).toMatchObject({ value: 'multipart/alternative' });
  expect(readHtml(one)).toBe(plain(one.text ?? ''));
  expect(one.subject).toMatch(/^[^\r\n]{1,200}$/);
  expect(one.headers.get('auto-submitted')).toBe('auto-generated');
}

/** Each POST is taken by the verifier of the standard's own library, and by none under another secret or of another body. */
function expectSigned({ requests }: LocalServer): void {
  expect(requests.length).toBeGreaterThan(0);
  const [secret, next] = [0, 1].map(
    (version) => new Webhook(signingSecret(app.deps.keys.signing, app.tenant, version)),
  );
  for (const { headers, body } of requests) {
    const sent = headers as Record<string, string>;
    expect(secret?.verify(body, sent)).toMatchObject({ account: app.tenant, event: expect.any(String) });
    expect(() => secret?.verify(`${body} `, sent)).toThrow();
    expect(() => next?.verify(body, sent)).toThrow();
  }
}

test('a gate’s whole life in mails: asked, reminded, escalated to another with a link of their own, and nobody in time', async () => {
  provider.respond(answerInTurns);
  const [ann, bob, ops] = ['ann@life.example', 'bob@life.example', 'ops@life.example'];
  const hook = await receiver();
  const gate = `## Sign & send\n\n- approve: [${ann}]\n- remind: 1s\n- escalate: { after: 2s, to: ${bob} }\n- timeout: 5s\n\nIs "this" <right> & good?`;
  const run = await started(gate, telling(ops, hook));
  await untilTold(run, ({ status }) => status === 'awaiting-approval');
  await untilTold(run, ({ steps }) => steps[0]?.trace.some(({ kind }) => kind === 'approval.reminder') === true);
  await untilTold(run, ({ steps }) => steps[0]?.trace.some(({ kind }) => kind === 'approval.escalated') === true);
  const ended = await untilTold(run, ({ finishedAt }) => finishedAt !== null);
  expect(ended.error).toBe('rejected: no decision in time');

  // Nothing has made anything yet: the subject says the flow and the step.
  const [asked, reminded] = mailsTo(ann);
  expect([asked?.subject, reminded?.subject]).toEqual(['f: Sign & send', 'f: Sign & send']);
  expect(asked?.text).toMatch(/^f: waits for your decision\n\nIs "this" <right> & good\?\n\nApprove:\nhttps/);
  expect(reminded?.text).toMatch(/^f: still waits for your decision/);
  expect(asked?.text).toMatch(/Decide before: \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  const [escalated] = mailsTo(bob);
  expect(new URL(linkIn(escalated as ReceivedMail)).searchParams.get('to')).toBe(bob);
  expect(linkIn(escalated as ReceivedMail)).not.toBe(linkIn(asked as ReceivedMail));
  const told = mailsTo(ops).map(({ text }) => text?.split('\n')[0]);
  for (const says of [
    'f: waits for your decision',
    'f: still waits for your decision',
    'f: no decision in time',
    'f: the run failed',
  ])
    expect(told).toContain(says);
  const last = mailsTo(ops).find(({ text }) => text?.startsWith('f: the run failed'));
  expect([last?.subject, last?.text]).toEqual([
    'f: the run failed',
    expect.stringContaining('rejected: no decision in time'),
  ]);
  for (const one of [...mailsTo(ann), ...mailsTo(bob), ...mailsTo(ops)]) expectWhole(one);
  expectSigned(hook);
  // A link of a gate that is over tells so.
  const late = await app.get(linkIn(escalated as ReceivedMail).slice(PUBLIC.length), {
    as: null,
    headers: { accept: 'text/html' },
  });
  expect(await late.text()).toContain('Timed out');
});

test('money, an end and a lost connection are mailed, by the run’s summary where there is one', async () => {
  provider.respond(answerInTurns);
  const ops = 'money@life.example';
  const hook = await receiver();
  const run = await started('## Work @worker\n\nTURNS=5', `budget: 0.05\non_budget: ask\n${telling(ops, hook)}`);
  await untilTold(run, ({ status }) => status === 'awaiting-approval');
  const [asked] = mailsTo(ops).filter(({ text }) => text?.includes('waits for your decision'));
  expect(asked?.text).toContain('The budget of the run, $0.05, is used up');
  const approved = await app.post(
    linkIn(asked as ReceivedMail).slice(PUBLIC.length),
    { decision: 'approve' },
    { as: null },
  );
  expect(approved.status).toBe(200);
  await untilTold(run, ({ finishedAt }) => finishedAt !== null);
  const told = mailsTo(ops).map(({ subject, text }) => [subject, text?.split('\n')[0]]);
  expect(told).toContainEqual(['done', 'f: the run is completed']);
  expect(told.map(([, says]) => says)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^f: \d+ % of the budget of \$0\.05 is spent$/),
      'f: the budget of the run, $0.05, is used up',
    ]),
  );

  expectSigned(hook);

  const oauth = await startOAuthProvider();
  oauth.answer(() => ({ status: 400, body: { error: 'invalid_grant' } }), 'always');
  const oauth2 = {
    token_url: oauth.tokenUrl,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    refresh_token: 'a refresh token',
  };
  expect((await app.put('/api/secrets', { name: 'O', oauth2 })).status).toBe(200);
  await app.patch('/api/account', { notify: { email: 'admins@life.example', events: ['connection.expired'] } });
  provider.respond(({ body }) =>
    body.messages.some(({ role }: { role: string }) => role === 'tool')
      ? { text: 'after' }
      : { calls: [{ name: 'Bash', args: { command: 'echo "$O"' } }] },
  );
  const lost = await started('## Work @worker\n\nTURNS=1', '', 'secrets: [O]\n');
  await untilTold(lost, ({ finishedAt }) => finishedAt !== null);
  await app.patch('/api/account', { notify: null });
  expect(subjectsTo('admins@life.example')).toEqual([`${app.tenant}: the connection O has to be made again`]);
  for (const one of [...mailsTo(ops), ...mailsTo('admins@life.example')]) expectWhole(one);
});

test('security 18: a canary that a tool prints and a model repeats is in no mail and no POST', async () => {
  expect((await app.put('/api/secrets', { name: 'V', value: CANARY })).status).toBe(200);
  const ops = 'canary@life.example';
  const hook = await receiver();
  // Each answer and each call says it, whether the model was told it or not.
  provider.respond(({ body }) => {
    const isFirst = !body.messages.some(({ role }: { role: string }) => role === 'tool');
    const command = `echo "$V"; printf %s "$V" | base64; echo '${CANARY}'`;
    return isFirst
      ? { calls: [{ name: 'Bash', args: { command } }] }
      : { text: `${CANARY} is it: ${JSON.stringify(body.messages.at(-1)?.content)}` };
  });
  const files: Tree = {
    ...worker('approve: [Bash]\nsecrets: [V]\n'),
    'flows/f.md': flow(
      '## Say @worker\n\nSay it.\n\n## Sign\n\n- approve: human\n\nIs {{steps.say.result}} right?',
      telling(ops, hook),
    ),
  };
  const workspace = await app.workspace(files);
  const run = { workspace, id: await app.start(workspace, 'f') };
  await untilTold(run, ({ waiting }) => waiting[0]?.id === 'say');
  const decide = (body: object) => app.post(`/api/workspaces/${workspace}/runs/${run.id}/approve`, body);
  expect((await decide({ decision: 'approve' })).status).toBe(200);
  await untilTold(run, ({ waiting }) => waiting[0]?.id === 'sign');
  expect((await decide({ decision: 'reject', note: 'enough' })).status).toBe(200);
  await untilTold(run, ({ finishedAt }) => finishedAt !== null);

  const posts = hook.requests.map(({ body }) => body).filter((body) => body.includes(workspace));
  const mails = mailsTo(ops);
  // Both gates, what they ask, and the end, whose subject is the newest result’s first line.
  expect([mails.length, posts.length]).toEqual([3, 3]);
  expect(mails.some(({ text }) => text?.includes('[secret V] is it'))).toBe(true);
  expect(mails.some(({ text }) => text?.includes('Bash {"command"'))).toBe(true);
  const said = [
    ...mails.flatMap(({ raw, text, html, subject }) => [raw, text ?? '', String(html), subject ?? '']),
    ...posts,
  ];
  for (const form of formsOfPiece(PIECE))
    for (const text of said) expect(text.includes(form), text.slice(0, 300)).toBe(false);
  for (const one of mails) expectWhole(one);
  expectSigned(hook);
  const rows = await app.deps.db.query<{ content: object }>('SELECT content FROM notification WHERE run_id = $1', [
    run.id,
  ]);
  expect(JSON.stringify(rows)).not.toContain(PIECE);
});

test('without SERVICE_PUBLIC_URL no mail has a link, and each worker says so once', async () => {
  const to = 'nolinks@life.example';
  const lines: object[] = [];
  const another = (): Deps => ({
    ...app.deps,
    log: recordingLog(lines),
    config: { ...app.deps.config, publicUrl: null },
  });
  const one = another();
  const gate = (n: number) => started(`## Sign ${n}\n\n- approve: [${to}]\n\nRight?`, '');
  for (const [n, deps] of [one, one, another()].entries()) {
    const { workspace, id } = await gate(n);
    await app.until(workspace, id, ({ status }) => status === 'awaiting-approval');
    await notifyAll(deps);
    await notifyAll(deps);
  }
  const mails = mailsTo(to);
  expect(mails.map(({ subject }) => subject)).toEqual(['f: Sign 0', 'f: Sign 1', 'f: Sign 2']);
  for (const { text, html } of mails) expect(`${text} ${html}`).not.toMatch(/https?:|href|token=|Each link/);
  const said = lines.filter((line) => JSON.stringify(line).includes('SERVICE_PUBLIC_URL'));
  expect(said).toHaveLength(2);
});
