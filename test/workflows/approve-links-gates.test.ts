import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { type ApiServer, serveApi } from '../../src/api/serve.js';
import type { OpenedLink } from '../../src/contract/approve.js';
import { browserPath, startBrowser } from '../support/browser.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeAnswer, FakeProvider } from '../support/fake-provider.js';
import { atFileEnd } from '../support/file-end.js';
import { flow } from '../support/flows.js';
import { linkPath } from '../support/links.js';
import { answerInTurns, createPlayedApp } from '../support/played-app.js';
import { createPerson } from '../support/sessions.js';
import type { Tree } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
let server: ApiServer;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp(answerInTurns));
  server = await serveApi({ ...app.deps, config: { ...app.deps.config, port: 0 } }, createApp(app.deps));
  atFileEnd(() => server.close());
});
afterAll(() => provider.close());

const ANN = 'ann@else.example';
const BOB = 'bob@else.example';
const AGENT: Tree = {
  'agents/worker.md':
    '---\nname: worker\ndescription: Works.\ntools: [ask_human, Bash, Glob]\napprove: [Bash]\n---\n\nYou work.\n',
};
const TOLD = `notify: { email: [${ANN}, ${BOB}] }\n`;

interface Parked {
  readonly workspace: string;
  readonly id: string;
  readonly park: string;
  readonly link: (to?: string, other?: object) => string;
}

async function parkedAt(workspace: string, id: string): Promise<Parked> {
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  const [row] = await app.deps.db.query<{ id: string }>(
    `SELECT id FROM park WHERE run_id = $1 AND kind = 'approval' ORDER BY opened_at DESC, id LIMIT 1`,
    [id],
  );
  const park = row?.id ?? '';
  const link = (to = ANN, other: object = {}) =>
    linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park, to, ...other });
  return { workspace, id, park, link };
}

async function parked(files: Tree, body: object = {}): Promise<Parked> {
  const workspace = await app.workspace({ ...AGENT, ...files });
  return parkedAt(workspace, await app.start(workspace, 'f', body));
}

/** One turn of calls, then an answer. */
function play(calls: NonNullable<FakeAnswer['calls']>): void {
  provider.respond(({ body }) => {
    const isFirst = !body.messages.some((message: { role: string }) => message.role === 'tool');
    return isFirst ? { calls } : { text: 'after' };
  });
}

const results = (): string[] => {
  const messages: { role: string; content: string }[] = provider.calls.at(-1)?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
};
const HTML = { accept: 'text/html' };
const JSON_ONLY = { accept: 'application/json' };
const page = async (path: string) => (await app.get(path, { as: null, headers: HTML })).text();
const read = async (path: string) =>
  (await (await app.get(path, { as: null, headers: JSON_ONLY })).json()) as OpenedLink;
const post = async (path: string, body: object) => {
  const response = await app.post(path, body, { as: null, headers: JSON_ONLY });
  return [response.status, (await response.json()) as Record<string, unknown>] as const;
};
const submit = async (path: string, fields: Record<string, string> | [string, string][] | string) => {
  const response = await app.request(path, {
    as: null,
    method: 'POST',
    headers: HTML,
    body: new URLSearchParams(fields),
  });
  return [response.status, await response.text()] as const;
};
const hidden = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/name="(nonce|digest)" value="([^"]+)"/g)].map(([, name = '', value = '']) => [name, value]),
  );

let browser: Promise<Browser> | null = null;
afterAll(async () => (await browser)?.close());

/** Decides in a real browser that runs no script, as a person does; answers the text of the page that follows. */
async function inBrowser(path: string, fill: Readonly<Record<string, string>>, press: 'approve' | 'reject') {
  if (browserPath === null) {
    const [, text] = await submit(path, { ...hidden(await page(path)), ...fill, decision: press });
    return text.replace(/<[^>]*>/g, '');
  }
  browser ??= startBrowser();
  const context = await (await browser).newContext({ javaScriptEnabled: false });
  try {
    const person = await context.newPage();
    await person.goto(`${server.url}${path}`);
    for (const [name, value] of Object.entries(fill)) await person.fill(`[name="${name}"]`, value);
    await Promise.all([person.waitForLoadState(), person.click(`button[value=${press}]`)]);
    return (await person.textContent('body')) ?? '';
  } finally {
    await context.close();
  }
}

const ASK = `budget: 0.05\non_budget: ask\n${TOLD}`;
const SPEND: Tree = { 'flows/f.md': flow('## Work @worker\n\nTURNS=5', ASK) };

test('a budget: the page has the figures, a person without scripts grants it, and who comes late reads by whom and when', async () => {
  provider.respond(answerInTurns);
  const { workspace, id, link } = await parked(SPEND);
  const text = await page(link());
  for (const shown of [
    'The budget of the run, $0.05, is used up',
    'Approve to grant another $0.05',
    `f in ${workspace}`,
  ])
    expect(text).toContain(shown);
  expect(await inBrowser(link(), { note: 'go on' }, 'approve')).toContain(`Approved by ${ANN} on 20`);
  const run = await app.ended(workspace, id);
  expect([run.status, run.budgetUsd]).toEqual(['completed', 0.1]);
  for (const to of [ANN, BOB]) {
    const late = await page(link(to));
    expect(late).toMatch(new RegExp(`Approved by ${ANN} on <time datetime="20[\\s\\S]*go on[\\s\\S]*What was asked`));
    expect(late).not.toContain('<form');
    expect(await post(link(to), { decision: 'reject' })).toEqual([
      409,
      expect.objectContaining({ decided: expect.objectContaining({ decision: 'approve', by: ANN }) }),
    ]);
  }
});

test('a budget: two steps that wait for the same money are one decision, whichever link it comes by', async () => {
  provider.respond(answerInTurns);
  const body = '## Work @worker\n\n- each: run.tags\n- as: tag\n- parallel: 2\n\n{{tag}} TURNS=5';
  const workspace = await app.workspace({ ...AGENT, 'flows/f.md': flow(body, ASK) });
  const id = await app.start(workspace, 'f', { tags: ['a', 'b'] });
  await app.until(workspace, id, (run) => run.waiting.filter(({ budget }) => budget).length === 2);
  const parks = await app.deps.db.query<{ id: string }>('SELECT id FROM park WHERE run_id = $1 ORDER BY id', [id]);
  const links = parks.map(({ id: park }) =>
    linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park, to: ANN }),
  );
  const [first = '', second = ''] = links;
  expect(links).toHaveLength(2);
  expect(await post(first, { decision: 'reject', note: 'too dear' })).toEqual([200, { ok: true, decided: 0, need: 1 }]);
  expect(await page(second)).toMatch(new RegExp(`Rejected by ${ANN}[\\s\\S]*too dear`));
  expect(await post(second, { decision: 'approve' })).toEqual([409, expect.anything()]);
  expect((await app.ended(workspace, id)).error).toContain(`${ANN} granted no more: too dear`);
});

const CALLS: Tree = { 'flows/f.md': flow('## One @worker\n\nDo it.', TOLD) };

test('security 12: a tool’s call is shown with its arguments and their digest; what is changed behind the page is not run', async () => {
  play([{ name: 'Bash', args: { command: 'echo shown > "outputs/<b>.txt"' } }]);
  const { workspace, id, link } = await parked(CALLS);
  const [call] = (await read(link())).calls ?? [];
  const before = await page(link());
  for (const shown of ['Call of Bash', '&lt;b&gt;.txt', call?.digest ?? '-']) expect(before).toContain(shown);
  // Somebody changes what the gate is about: the page that lies open is out of date.
  await app.deps.db.query(
    `UPDATE park SET spec = replace(spec::text, 'echo shown', 'echo other')::jsonb WHERE run_id = $1`,
    [id],
  );
  const [status, again] = await submit(link(), { ...hidden(before), decision: 'approve' });
  expect([status, again]).toEqual([409, expect.stringMatching(/review again[\s\S]*echo other/)]);
  expect((await post(link(), { decision: 'approve', digest: hidden(before).digest }))[0]).toBe(409);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  expect(await inBrowser(link(), {}, 'approve')).toContain(`Approved by ${ANN}`);
  const run = await app.ended(workspace, id);
  expect(run.steps[0]?.files).toEqual([expect.objectContaining({ path: 'outputs/<b>.txt' })]);
});

test('a tool’s call that is rejected by a link is not made, and the agent hears why', async () => {
  play([{ name: 'Bash', args: { command: 'echo no > outputs/no.txt' } }]);
  const { workspace, id, link } = await parked(CALLS);
  expect(await inBrowser(`${link(BOB)}&decision=reject`, { note: 'not on a Friday' }, 'reject')).toContain(
    `Rejected by ${BOB}`,
  );
  const run = await app.ended(workspace, id);
  expect([results(), run.steps[0]?.files, run.status]).toEqual([['not approved: not on a Friday'], [], 'completed']);
});

test('a question is answered by the note, several of one turn each in its field, in a browser or as JSON', async () => {
  play([{ name: 'ask_human', args: { question: 'Which <i>colour</i>?' } }]);
  const one = await parked(CALLS);
  const text = await page(one.link());
  for (const shown of ['A question', 'Which &lt;i&gt;colour&lt;/i&gt;?', 'Answer, or why not'])
    expect(text).toContain(shown);
  await inBrowser(one.link(), { note: 'red' }, 'approve');
  await app.ended(one.workspace, one.id);
  expect(results()).toEqual(['red']);

  const questions = ['Which colour?', 'Which size?'].map((question) => ({ name: 'ask_human', args: { question } }));
  play(questions);
  const two = await parked(CALLS);
  expect(await post(two.link(), { decision: 'approve', form: { answer_3: 'x' } })).toEqual([422, expect.anything()]);
  await inBrowser(two.link(), { 'form.answer_1': 'blue', 'form.answer_2': 'small' }, 'approve');
  await app.ended(two.workspace, two.id);
  expect(results()).toEqual(['blue', 'small']);

  const three = await parked(CALLS);
  expect((await post(three.link(), { decision: 'approve', note: 'any', form: { answer_2: 'large' } }))[0]).toBe(200);
  await app.ended(three.workspace, three.id);
  expect(results()).toEqual(['any', 'large']);
});

test('security 12: the page shows a long call whole, since all of it is approved', async () => {
  const command = `echo ${'x'.repeat(9_000)} END`;
  play([{ name: 'Bash', args: { command } }]);
  const { workspace, id, link } = await parked(CALLS);
  expect(await page(link())).toContain(command);
  await post(link(), { decision: 'reject' });
  await app.ended(workspace, id);
});

const SIGN = (gate: string) => ({
  'flows/f.md': flow(`## Draft @worker\n\nTURNS=0\n\n## Sign it\n\n${gate}\n\nRight?`),
});

test('need: 2 counts recipients, shows the next one what the one before changed, and an open page is then out of date', async () => {
  provider.respond(answerInTurns);
  const { workspace, id, link } = await parked(SIGN(`- approve: [${ANN}, ${BOB}]\n- need: 2\n- edit: [draft]`));
  const bobs = await page(link(BOB));
  const anns = hidden(await page(link(ANN)));
  expect((await submit(link(ANN), { ...anns, decision: 'approve', 'edit.draft': 'by Ann' }))[0]).toBe(200);
  expect(await post(link(ANN.toUpperCase()), { decision: 'approve' })).toEqual([
    200,
    { ok: true, decided: 1, need: 2 },
  ]);
  expect(await post(link(ANN), { decision: 'approve', edits: { draft: 'else' } })).toEqual([409, expect.anything()]);
  const [status, again] = await submit(link(BOB), { ...hidden(bobs), decision: 'approve' });
  expect([status, again]).toEqual([
    409,
    expect.stringMatching(/review again[\s\S]*Changed by ann@else\.example[\s\S]*by Ann/),
  ]);
  expect(await read(link(BOB))).toMatchObject({ decided: 1, need: 2, yours: null });
  expect((await submit(link(BOB), { ...hidden(again), decision: 'approve' }))[0]).toBe(200);
  const run = await app.ended(workspace, id);
  expect([run.status, run.steps[0]?.result]).toEqual(['completed', 'by Ann']);
  expect(run.steps[1]?.decision).toMatchObject({ votes: [{ by: ANN }, { by: BOB }] });
});

test('whom a gate escalates to decides once their time has come and not before, and the page says who may', async () => {
  provider.respond(answerInTurns);
  const { workspace, id, park, link } = await parked(
    SIGN(`- approve: [${ANN}]\n- escalate: { after: 1h, to: ${BOB} }`),
  );
  expect(await page(link(BOB))).toContain(`This is decided by ${ANN}, and not by ${BOB}.`);
  expect((await post(link(BOB), { decision: 'approve' }))[0]).toBe(403);
  await app.deps.db.query(
    `UPDATE park SET opened_at = opened_at - interval '2 hours', escalate_at = escalate_at - interval '2 hours' WHERE id = $1`,
    [park],
  );
  expect(await read(link(BOB))).toMatchObject({ mayDecide: true, approvers: [ANN, BOB] });
  expect(await inBrowser(link(BOB), {}, 'approve')).toContain(`Approved by ${BOB}`);
  expect((await app.ended(workspace, id)).steps[1]?.decision).toMatchObject({ by: BOB });
});

test('the self rule and roles hold for every kind of gate that people decide by role', async () => {
  play([{ name: 'Bash', args: { command: 'echo hi' } }]);
  const [viewer, editor] = [await createPerson(app, 'viewer'), await createPerson(app, 'editor')];
  const quiet = { 'flows/f.md': flow('## One @worker\n\nDo it.') };
  const call = await parked(quiet);
  for (const to of [viewer.email, ANN, 'webhook']) {
    expect([to, (await post(call.link(to), { decision: 'approve' }))[0]]).toEqual([to, 403]);
    expect(await page(call.link(to))).not.toContain('<form');
  }
  expect((await post(call.link(editor.email), { decision: 'approve' }))[0]).toBe(200);
  await app.ended(call.workspace, call.id);
  provider.respond(answerInTurns);
  const money = await parked({ 'flows/f.md': flow('## Work @worker\n\nTURNS=5', 'budget: 0.05\non_budget: ask\n') });
  for (const to of [viewer.email, ANN, 'webhook'])
    expect([to, (await post(money.link(to), { decision: 'approve' }))[0]]).toEqual([to, 403]);
  // Who started a run may grant it money: nothing says otherwise.
  expect((await post(money.link(app.owner.email), { decision: 'approve' }))[0]).toBe(200);
  await app.ended(money.workspace, money.id);
});

test('a link of a run that was stopped, timed out or was run again says so, and decides nothing of another run', async () => {
  provider.respond(answerInTurns);
  const stopped = await parked(SIGN(`- approve: [${ANN}]`));
  await app.post(`/api/workspaces/${stopped.workspace}/runs/${stopped.id}/stop`);
  await app.ended(stopped.workspace, stopped.id);
  expect(await page(stopped.link())).toMatch(/continued, or ended, without a decision[\s\S]*What was asked/);
  expect(await post(stopped.link(), { decision: 'approve' })).toEqual([
    409,
    expect.objectContaining({ error: expect.stringContaining('the run has ended') }),
  ]);
  const again = await app.post(`/api/workspaces/${stopped.workspace}/runs/${stopped.id}/rerun`, {});
  expect(again.status).toBe(202);
  const next = await parkedAt(stopped.workspace, ((await again.json()) as { runId: string }).runId);
  for (const path of [stopped.link(), next.link(ANN, { park: stopped.park }), stopped.link(ANN, { park: next.park })])
    expect((await post(path, { decision: 'approve' }))[0]).toBeGreaterThanOrEqual(401);
  expect((await app.run(next.workspace, next.id)).status).toBe('awaiting-approval');
  expect((await post(next.link(), { decision: 'approve' }))[0]).toBe(200);
  const done = await app.ended(next.workspace, next.id);
  expect(done.status).toBe('completed');

  // Once more from the gate on: the link that decided it tells of its own run alone.
  const copy = await app.post(`/api/workspaces/${next.workspace}/runs/${next.id}/rerun`, { step: 2 });
  expect([copy.status, await copy.clone().text()]).toEqual([202, expect.any(String)]);
  const copied = await parkedAt(next.workspace, ((await copy.json()) as { runId: string }).runId);
  expect(await page(next.link())).toContain(`Approved by ${ANN}`);
  expect(await read(copied.link())).toMatchObject({ decision: null, runId: copied.id });

  const timed = await parked(SIGN(`- approve: [${ANN}]\n- timeout: 4s`));
  await app.ended(timed.workspace, timed.id);
  expect(await page(timed.link())).toMatch(/Timed out[\s\S]*Timed out[\s\S]* on <time/);
  expect((await post(timed.link(), { decision: 'approve' }))[0]).toBe(409);
});

test('a gate of a subflow has a link of its own, and the run above it none for it', async () => {
  provider.respond(answerInTurns);
  const workspace = await app.workspace({
    ...AGENT,
    'flows/f.md': flow('## Call\n\n- subflow: inner'),
    'flows/inner.md': flow(`## Sign\n\n- approve: [${ANN}]\n\nRight?`),
  });
  const id = await app.start(workspace, 'f');
  const parent = await app.until(workspace, id, (run) => run.waiting[0]?.runId !== undefined);
  const child = await parkedAt(workspace, parent.waiting[0]?.runId ?? '');
  expect(await read(child.link())).toMatchObject({ flow: 'inner', runId: child.id, mayDecide: true });
  expect((await post(child.link(ANN, { runId: id }), { decision: 'approve' }))[0]).toBe(401);
  expect((await post(child.link(), { decision: 'approve' }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

const FILLED =
  '```json form\n{"type":"object","properties":{"amount":{"type":"number"},"urgent":{"type":"boolean"},"a\\nb":{"type":"string"},"tags[]":{"type":"string"}}}\n```';

test('a posted form with a field that the page does not have, or one twice, decides nothing and says so', async () => {
  provider.respond(answerInTurns);
  const { workspace, id, link } = await parked(SIGN(`- approve: [${ANN}]\n- edit: [draft]\n\n${FILLED}`));
  const faults: [string, string][] = [
    ['edit.drfat=x', 'body.edit.drfat: unknown key; did you mean "edit.draft"?'],
    ['form.amonut=3', 'body.form.amonut: unknown key; did you mean "form.amount"?'],
    ['form={"amount":3}', 'body.form: unknown key; it may be: decision, note, '],
    ['Note=no', 'body.Note: unknown key; did you mean "note"?'],
    ['note=yes&note=no', 'body.note: sent more than once: send it once'],
    ['decision=reject', 'body.decision: sent more than once: send it once'],
    ['edit.draft=a&edit.draft=b&x=', 'body.edit.draft: sent more than once: send it once (and 1 more)'],
  ];
  for (const [fields, message] of faults) {
    const [status, text] = await submit(link(), `decision=approve&${fields}`);
    expect([status, text.replaceAll('&quot;', '"')]).toEqual([422, expect.stringContaining(message)]);
    expect((await submit(link(), `decision=reject&${fields}`))[0]).toBe(422);
  }
  expect(await submit(link(), { decison: 'approve' })).toEqual([422, expect.stringContaining('did you mean')]);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');

  // All that the page has is taken, also the line end in a name as a browser posts it.
  const text = await page(link());
  const names = [...text.matchAll(/<(?:input|textarea|select)[^>]* name="([^"]+)"/g)].map(([, name = '']) => name);
  expect(names.toSorted()).toEqual(
    ['digest', 'edit.draft', 'form.a\nb', 'form.amount', 'form.tags[]', 'form.urgent', 'nonce', 'note'].toSorted(),
  );
  const filled: Record<string, string> = { ...hidden(text), 'form.amount': '3', 'edit.draft': 'mine', note: 'fine' };
  const values = names.map((name): [string, string] => [name.replace('\n', '\r\n'), filled[name] ?? 'true']);
  expect(await submit(link(), [['decision', 'approve'], ...values])).toEqual([
    200,
    expect.stringContaining(`Approved by ${ANN}`),
  ]);
  expect((await app.ended(workspace, id)).steps[1]?.decision).toMatchObject({
    note: 'fine',
    form: { amount: 3, urgent: true, 'a\nb': 'true', 'tags[]': 'true' },
    edited: ['draft'],
  });
  // Whoever comes late is told that, and by whom, whatever they sent.
  expect(await submit(link(), 'decision=approve&edit.drfat=x')).toEqual([
    409,
    expect.stringContaining('was approved by'),
  ]);
});

test('a person without scripts decides on a page that has every kind of field', async () => {
  provider.respond(answerInTurns);
  const { workspace, id, link } = await parked(SIGN(`- approve: [${ANN}]\n- edit: [draft]\n\n${FILLED}`));
  const fill = { 'form.amount': '3', 'form.tags[]': 'a', 'edit.draft': 'mine' };
  expect(await inBrowser(link(), fill, 'approve')).toContain(`Approved by ${ANN}`);
  const decision = { form: { amount: 3, urgent: false, 'tags[]': 'a' }, edited: ['draft'] };
  expect((await app.ended(workspace, id)).steps[1]?.decision).toMatchObject(decision);
});
