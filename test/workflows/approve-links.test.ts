import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { type ApiServer, serveApi } from '../../src/api/serve.js';
import type { OpenedLink } from '../../src/contract/approve.js';
import type { Db } from '../../src/platform/db/index.js';
import { browserPath, startBrowser } from '../support/browser.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { atFileEnd } from '../support/file-end.js';
import { flow, scripted } from '../support/flows.js';
import { linkPath } from '../support/links.js';
import { createPerson, someAddress } from '../support/sessions.js';

let app: EngineApp;
let server: ApiServer;
beforeAll(async () => {
  app = await createEngineApp();
  server = await serveApi({ ...app.deps, config: { ...app.deps.config, port: 0 } }, createApp(app.deps));
  atFileEnd(() => server.close());
});

const BOSS = 'boss@else.example';
const SCRIPT = `- { when: { step: draft }, text: "a draft" }
- { when: { step: facts }, text: '{"total": 3}' }
- { when: { step: send }, text: "sent" }
`;
const FACTS = '## Facts @worker\n\n- output: json\n\n```yaml schema\ntotal: integer\n```\n\nCount.\n\n';

/** A run that waits at its gate, and the path of its link for an address. */
async function parked(gate: string, more: { notify?: string; files?: Record<string, string>; facts?: boolean } = {}) {
  const workspace = await app.workspace({
    ...scripted(SCRIPT),
    'flows/g.md': flow(
      `## Draft @worker\n\nDraft.\n\n${more.facts ? FACTS : ''}## Sign it\n\n${gate}\n\nRight & <b>good</b>?\n\n## Send @worker\n\nSend it.`,
      more.notify ?? '',
    ),
    ...more.files,
  });
  const id = await app.start(workspace, 'g');
  const run = await app.until(workspace, id, (one) => one.status === 'awaiting-approval');
  const park = await parkOf(id);
  const link = (to: string, other: object = {}) =>
    linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park, to, ...other });
  return { workspace, id, run, park, link };
}

async function parkOf(id: string): Promise<string> {
  const [row] = await app.deps.db.query<{ id: string }>(
    'SELECT id FROM park WHERE run_id = $1 ORDER BY opened_at DESC LIMIT 1',
    [id],
  );
  return row?.id ?? '';
}

const HTML = { accept: 'text/html,*/*;q=0.8' };
const JSON_ONLY = { accept: 'application/json' };
const read = async (path: string) =>
  (await (await app.get(path, { as: null, headers: JSON_ONLY })).json()) as OpenedLink;
const page = (path: string) => app.get(path, { as: null, headers: HTML });
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  app.post(path, body, { as: null, headers: { ...JSON_ONLY, ...headers } });
const submit = (path: string, fields: Record<string, string>) =>
  app.request(path, { as: null, method: 'POST', headers: HTML, body: new URLSearchParams(fields) });
const hidden = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/name="(nonce|digest)" value="([^"]+)"/g)].map(([, name, value]) => [name, value]),
  );

test('security 12: the page shows exactly what is approved, runs nothing and is kept by nobody', async () => {
  const { link } = await parked(`- approve: [${BOSS}]\n- timeout: 2d`);
  const response = await page(link(BOSS));
  const text = await response.text();
  expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
  );
  expect(text).not.toMatch(/<script|javascript:|\son\w+=|style=|<b>good/i);
  for (const shown of ['Sign it', 'Right &amp; &lt;b&gt;good&lt;/b&gt;?', BOSS, 'UTC', 'Approve', 'Reject'])
    expect(text).toContain(shown);
  const { digest } = await read(link(BOSS));
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(text).toContain(digest);
  expect(/<button name="decision" value="reject" autofocus>/.test(text)).toBe(false);
  expect(await (await page(`${link(BOSS)}&decision=reject`)).text()).toContain('value="reject" autofocus');
});

test('security 12: GET and HEAD a hundred times, and a prefetch, decide nothing', async () => {
  const { workspace, id, link } = await parked(`- approve: [${BOSS}]`);
  const before = await app.deps.db.query('SELECT * FROM park WHERE run_id = $1', [id]);
  const { lastSeq } = await app.run(workspace, id);
  for (const path of [link(BOSS), `${link(BOSS)}&decision=approve`, `${link(BOSS)}&decision=reject`]) {
    for (let round = 0; round < 100; round += 1) {
      const method = round % 2 === 0 ? 'GET' : 'HEAD';
      const response = await app.request(path, { as: null, method, headers: { ...HTML, purpose: 'prefetch' } });
      if (response.status !== 200) throw new Error(`${method}: ${response.status}`);
    }
  }
  expect((await app.request(link(BOSS), { as: null, method: 'OPTIONS' })).status).toBe(405);
  expect(await app.deps.db.query('SELECT * FROM park WHERE run_id = $1', [id])).toEqual(before);
  expect((await app.run(workspace, id)).lastSeq).toBe(lastSeq);
});

test('a POST of the token alone decides, as a form or as JSON, and the trace says how it came', async () => {
  const said = async (run: { workspace: string; id: string }) => {
    const { steps } = await app.ended(run.workspace, run.id);
    return steps[1]?.trace.find(({ kind }) => kind === 'approval.decided')?.text;
  };
  const first = await parked(`- approve: [${BOSS}]`);
  const from = someAddress();
  const json = await post(first.link(BOSS), { decision: 'approve', note: 'fine' }, { 'x-forwarded-for': from });
  expect([json.status, await json.json()]).toEqual([200, { ok: true, decided: 1, need: 1 }]);
  expect(await said(first)).toBe('approved via emailed link');
  const { steps, status } = await app.ended(first.workspace, first.id);
  expect([status, steps[1]?.decision]).toEqual([
    'completed',
    expect.objectContaining({ decision: 'approve', by: BOSS, note: 'fine' }),
  ]);
  const audited = await app.deps.db.query(
    `SELECT actor, detail->>'decision' AS decision FROM audit_entry WHERE action = 'run.decide' AND target = $1`,
    [first.id],
  );
  expect(audited).toEqual([{ actor: { kind: 'link', id: `link:${BOSS}`, label: BOSS }, decision: 'approve' }]);

  const second = await parked(`- approve: [${BOSS}]`);
  const form = await app.request(second.link(BOSS), {
    as: null,
    method: 'POST',
    headers: JSON_ONLY,
    body: new URLSearchParams({ decision: 'reject', note: 'not like this' }),
  });
  expect([form.status, await form.json()]).toEqual([200, { ok: true, decided: 0, need: 1 }]);
  expect(await said(second)).toBe('rejected via emailed link');
  expect((await app.ended(second.workspace, second.id)).error).toBe(`rejected by ${BOSS}: not like this`);
});

test('security 11: whatever is wrong with a link, the answer is one and the same, before any fault of the body', async () => {
  const one = await parked(`- approve: [${BOSS}]`);
  const two = await parked(`- approve: [${BOSS}]`);
  const good = new URL(one.link(BOSS), 'http://x');
  const changed = (name: string, value: string) => {
    const url = new URL(good);
    url.searchParams.set(name, value);
    return url.pathname + url.search;
  };
  const strange = randomBytes(32);
  const oldKey = { config: app.deps.config, keys: { signing: strange, ring: [...app.deps.keys.ring] } };
  const at = { tenant: app.tenant, workspace: one.workspace, runId: one.id, park: one.park, to: BOSS };
  const wrong = [
    good.pathname,
    changed('token', 'x'),
    changed('token', 'x'.repeat(5_000)),
    changed('park', two.park),
    changed('to', 'other@else.example'),
    changed('to', 'webhook'),
    one.link(BOSS, { tenant: 'nobody' }),
    one.link(BOSS, { runId: two.id }),
    one.link(BOSS, { runId: 'none' }),
    one.link(BOSS, { park: 'none' }),
    linkPath(oldKey, at),
    // Of an event's token the same fields make another one.
    `/api/approve/${app.tenant}/${one.workspace}/${one.id}?token=${new URL(two.link(BOSS), 'http://x').searchParams.get('token')}&park=${one.park}&to=${BOSS}`,
  ];
  for (const path of wrong) {
    const answers = [
      await app.get(path, { as: null, headers: JSON_ONLY }),
      await post(path, { decision: 'approve' }),
      await post(path, { decision: 'perhaps', more: 1 }),
      await app.request(path, {
        as: null,
        method: 'POST',
        headers: { ...JSON_ONLY, 'content-type': 'application/json' },
        body: '{',
      }),
    ];
    for (const answer of answers)
      expect([path, answer.status, await answer.json()]).toMatchObject([path, 401, { error: 'the link is not valid' }]);
  }
  expect((await app.run(one.workspace, one.id)).status).toBe('awaiting-approval');
});

test('security 11: a link that was mailed before its workspace had another name opens its gate, and so does an event’s', async () => {
  const one = await parked(`- approve: [${BOSS}, role:admin]\n- need: 2`);
  const scoped = await createPerson(app, 'admin');
  await app.deps.db.query('UPDATE member SET all_workspaces = false, workspaces = ARRAY[$2] WHERE id = $1', [
    scoped.id,
    one.workspace,
  ]);
  const waits = await app.workspace({ ...scripted(SCRIPT), 'flows/g.md': flow('## Hear\n\n- wait: event') });
  const id = await app.start(waits, 'g');
  const { waiting } = await app.until(waits, id, (run) => run.waiting.length > 0);
  const release = new URL(waiting[0]?.releaseUrl ?? '');
  for (const name of [one.workspace, waits]) {
    const renamed = await app.patch(`/api/workspaces/${name}`, { name: `${name}-new` });
    expect([renamed.status, ((await renamed.json()) as { renamed: { note: string } }).renamed.note]).toEqual([
      200,
      `every path of it is now under ${name}-new: hooks and git remotes of ${name} no longer work`,
    ]);
    // What has the name now is another workspace.
    await app.post('/api/workspaces', { name, template: 'blank' });
  }
  for (const path of [one.link(BOSS), one.link(BOSS, { workspace: 'x%00y' })]) {
    expect(await (await page(path)).text()).toContain(`g in ${one.workspace}-new`);
    expect(await read(path)).toMatchObject({ workspace: `${one.workspace}-new`, runId: one.id, mayDecide: true });
  }
  expect(await (await post(one.link(BOSS), { decision: 'approve' })).json()).toMatchObject({ decided: 1 });
  const fields = hidden(await (await page(one.link(scoped.email))).text());
  const decided = await submit(one.link(scoped.email), { ...fields, decision: 'approve' });
  expect([decided.status, await decided.text()]).toEqual([200, expect.stringContaining(`Approved by ${scoped.email}`)]);
  expect((await app.ended(`${one.workspace}-new`, one.id)).status).toBe('completed');
  const released = await app.post(`${release.pathname}${release.search}`, { ok: true }, { as: null });
  expect([released.status, await released.json()]).toEqual([200, { ok: true, runId: id, step: 'hear' }]);
  expect((await app.ended(`${waits}-new`, id)).steps[0]).toMatchObject({ eventPayload: { ok: true } });
});

test.each(['find-linked-gate', 'find-link-member'])(
  'a link decides though its workspace gets another name just after %s',
  async (after) => {
    const { workspace, id, link } = await parked('- approve: [role:admin]');
    const { id: member, email } = await createPerson(app, 'admin');
    const narrow = 'UPDATE member SET all_workspaces = false, workspaces = ARRAY[$2] WHERE id = $1';
    await app.deps.db.query(narrow, [member, workspace]);
    const left = new Set([after]);
    const query: Db['query'] = async (asked, values) => {
      const rows = await app.deps.db.query(asked, values);
      if (typeof asked !== 'string' && left.delete(asked.name ?? ''))
        expect((await app.patch(`/api/workspaces/${workspace}`, { name: `${workspace}-new` })).status).toBe(200);
      return rows as never;
    };
    const renaming = createApp({ ...app.deps, db: { ...app.deps.db, query } });
    const headers = { ...JSON_ONLY, 'content-type': 'application/json' };
    const answer = await renaming.request(link(email), { method: 'POST', headers, body: '{"decision":"approve"}' });
    expect([answer.status, await answer.json()]).toEqual([200, { ok: true, decided: 1, need: 1 }]);
    expect((await app.ended(`${workspace}-new`, id)).status).toBe('completed');
  },
);

test('a link is good for its gate alone: not for the next round, nor for another gate that is open', async () => {
  const { workspace, id, link } = await parked(`- approve: [${BOSS}]\n- on_reject: draft\n- max_rounds: 3`);
  expect((await post(link(BOSS), { decision: 'reject', note: 'again' })).status).toBe(200);
  const again = await app.until(
    workspace,
    id,
    (run) => run.steps[1]?.round === 2 && run.status === 'awaiting-approval',
  );
  expect(again.waiting).toHaveLength(1);
  const late = await post(link(BOSS), { decision: 'approve' });
  expect([late.status, ((await late.json()) as { error: string }).error]).toEqual([
    409,
    expect.stringMatching(/^step 2 \(Sign it\) was rejected by boss@else\.example at \d{4}-/),
  ]);
  const shown = await (await page(link(BOSS))).text();
  expect(shown).toMatch(/Rejected by boss@else\.example on .*UTC/);
  for (const said of ['again', 'What was asked', 'Right &amp; &lt;b&gt;good&lt;/b&gt;?', `g in ${workspace}`])
    expect(shown).toContain(said);
  expect(shown).not.toContain('<form');
  const latePage = await submit(link(BOSS), { decision: 'approve' });
  expect([latePage.status, await latePage.text()]).toEqual([409, expect.stringContaining('was rejected by')]);
});

test('security 12: content that changed since the page was made is reviewed again, and so is a page of another', async () => {
  const { workspace, id, link, run } = await parked(`- approve: [${BOSS}]\n- edit: [draft]`);
  const fields = hidden(await (await page(link(BOSS))).text()) as { nonce: string; digest: string };
  await app.deps.db.query(`UPDATE step SET result = 'another draft' WHERE run_id = $1 AND id = 'draft'`, [id]);
  for (const body of [
    { decision: 'approve', ...fields },
    { decision: 'approve', digest: fields.digest },
  ]) {
    const refused = await submit(link(BOSS), body);
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringMatching(/review again[\s\S]*another draft/),
    ]);
  }
  const fresh = hidden(await (await page(link(BOSS))).text()) as { nonce: string; digest: string };
  const other = await parked(`- approve: [${BOSS}]`);
  const theirs = hidden(await (await page(other.link(BOSS))).text()) as { nonce: string };
  for (const nonce of ['', 'x', theirs.nonce, fields.nonce]) {
    const refused = await submit(link(BOSS), { decision: 'approve', digest: fresh.digest, nonce });
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('review again')]);
  }
  expect((await app.run(workspace, id)).steps[1]?.status).toBe(run.steps[1]?.status);
  expect((await submit(link(BOSS), { decision: 'approve', ...fresh })).status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

const FORM = '```yaml form\namount: number\nwho(enum): [ann, bob]\nurgent?: boolean\n```';

test('a page is filled in: the form by its types, edits only where something was changed', async () => {
  const { workspace, id, link } = await parked(`- approve: [${BOSS}]\n- edit: [draft, facts]\n\n${FORM}`, {
    facts: true,
  });
  const text = await (await page(link(BOSS))).text();
  const fields = hidden(text);
  const names = [...text.matchAll(/name="((?:form|edit)\.[^"]+)"/g)].map(([, name]) => name);
  expect(names).toEqual(['edit.draft', 'edit.facts', 'form.amount', 'form.who', 'form.urgent']);
  const bad = await submit(link(BOSS), {
    ...fields,
    decision: 'approve',
    'form.amount': 'many',
    'form.who': 'ann',
  } as never);
  expect([bad.status, await bad.text()]).toEqual([
    422,
    expect.stringMatching(/amount must be number[\s\S]*value="many"/),
  ]);
  const good = await submit(link(BOSS), {
    ...fields,
    decision: 'approve',
    'form.amount': '12.5',
    'form.who': 'bob',
    'form.urgent': 'true',
    'edit.draft': 'a draft',
    'edit.facts': '{ "total": 5 }',
  } as never);
  expect([good.status, await good.text()]).toEqual([200, expect.stringContaining(`Approved by ${BOSS}`)]);
  const { steps } = await app.ended(workspace, id);
  expect(steps[2]?.decision).toMatchObject({ form: { amount: 12.5, who: 'bob', urgent: true }, edited: ['facts'] });
  expect([steps[0]?.result, steps[1]?.data]).toEqual(['a draft', { total: 5 }]);
});

test('the recipient counts once, by link or signed in, and the self rule holds for them', async () => {
  const ann = await createPerson(app, 'editor');
  const { workspace, id, link } = await parked('- approve: human\n- need: 2');
  expect(await (await post(link(ann.email), { decision: 'approve' })).json()).toEqual({
    ok: true,
    decided: 1,
    need: 2,
  });
  expect(await (await post(link(ann.email.toUpperCase()), { decision: 'approve' })).json()).toMatchObject({
    decided: 1,
  });
  expect(await (await page(link(ann.email))).text()).toContain('1 of 2 have approved');
  expect(await (await page(link(app.owner.email))).text()).toContain(`1 of 2: ${ann.email}`);
  expect(await (await post(link(app.owner.email), { decision: 'approve' })).json()).toMatchObject({ decided: 2 });
  expect((await app.ended(workspace, id)).status).toBe('completed');

  const own = await parked('- approve: human\n- self: false');
  const [starter] = await app.deps.db.query<{ email: string }>(
    `SELECT m.email FROM run r JOIN member m ON m.id = r.started_by->>'person' WHERE r.id = $1`,
    [own.id],
  );
  const refused = await post(own.link(starter?.email ?? ''), { decision: 'approve' });
  expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([
    403,
    'this gate is decided by human, but not the one who started the run',
  ]);
  expect((await post(own.link(ann.email), { decision: 'approve' })).status).toBe(200);
});

test('security 27: a link gives a member no more than they have now, and nobody else more than notify does', async () => {
  const viewer = await createPerson(app, 'viewer');
  const gone = await createPerson(app, 'admin');
  const narrowed = await createPerson(app, 'admin');
  await app.deps.db.query(`UPDATE member SET all_workspaces = false, workspaces = '{other}' WHERE id = $1`, [
    narrowed.id,
  ]);
  const plain = await parked('- approve: human');
  await app.deps.db.query('DELETE FROM member WHERE id = $1', [gone.id]);
  for (const to of [viewer.email, gone.email, narrowed.email, 'nobody@else.example', 'webhook'])
    expect([to, (await post(plain.link(to), { decision: 'approve' })).status]).toEqual([to, 403]);
  expect(await (await page(plain.link(viewer.email))).text()).not.toContain('<form');
  const told = await parked('- approve: human', {
    notify: 'notify: { email: team@else.example, url: "https://else.example/hook" }\n',
  });
  expect((await read(told.link('webhook'))).mayDecide).toBe(true);
  expect((await post(told.link('team@else.example'), { decision: 'approve' })).status).toBe(200);
  expect((await app.ended(told.workspace, told.id)).steps[1]?.decision).toMatchObject({ by: 'team@else.example' });
});

const scanned = (path: string) => `${server.url}${path}`;

test.runIf(browserPath !== null)(
  'security 12: a headless browser that opens every link and waits decides nothing; a person without scripts does',
  async () => {
    const { workspace, id, link } = await parked(`- approve: [${BOSS}]\n\n${FORM}`);
    const { lastSeq } = await app.run(workspace, id);
    const browser = await startBrowser();
    atFileEnd(() => browser.close());
    const scanner = await browser.newPage();
    for (const path of [link(BOSS), `${link(BOSS)}&decision=reject`]) {
      await scanner.goto(scanned(path), { waitUntil: 'networkidle' });
      await scanner.waitForTimeout(5_000);
    }
    expect((await app.run(workspace, id)).lastSeq).toBe(lastSeq);
    const context = await browser.newContext({ javaScriptEnabled: false });
    const person = await context.newPage();
    await person.goto(scanned(link(BOSS)));
    await person.fill('[name="form.amount"]', '3');
    await person.selectOption('[name="form.who"]', 'ann');
    await person.fill('[name=note]', 'two\nlines');
    await Promise.all([person.waitForLoadState(), person.click('button[value=approve]')]);
    expect(await person.textContent('body')).toContain(`Approved by ${BOSS}`);
    expect((await app.ended(workspace, id)).steps[1]?.decision).toMatchObject({
      note: 'two\nlines',
      form: { amount: 3, who: 'ann', urgent: false },
    });
  },
);
