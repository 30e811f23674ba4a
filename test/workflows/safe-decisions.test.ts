import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OpenedLink } from '../../src/contract/approve.js';
import type { RunView } from '../../src/contract/runs.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { linkPath } from '../support/links.js';
import { AGENT, changed, type Parked, parkedRun } from '../support/parked-run.js';
import { createPlayedApp, usageOf } from '../support/played-app.js';
import { createPerson } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';
import { bodyOf } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

const DRAFT = '## Draft @worker\n\nDraft.\n\n';
const SIGN = `${DRAFT}## Sign\n\n- approve: human\n- on_reject: draft\n- max_rounds: 5\n\nRight?`;

const parked = (body: string, frontmatter = ''): Promise<Parked> => parkedRun(app, body, { frontmatter });

const sayDone = () => provider.respond(() => ({ text: 'done' }));

test('a gate says by round and digest what it shows, alike in the run, in its list and on its page', async () => {
  sayDone();
  const { workspace, id, at, waiting } = await parked(SIGN.replace('- max', '- edit: [draft]\n- max'));
  const gate = { round: 1, digest: expect.stringMatching(/^[0-9a-f]{64}$/) };
  expect(waiting.gate).toEqual(gate);
  const run = await app.run(workspace, id);
  const list = await bodyOf(await app.get('/api/approvals'));
  const listed = (list.approvals as { runId: string; gate: object }[]).find(({ runId }) => runId === id);
  const opened = (await (await app.get(await linkOf(workspace, id, app.owner.email), open())).json()) as OpenedLink;
  for (const shown of [run.gate, run.waiting[0]?.gate, listed?.gate, opened.gate]) expect(shown).toEqual(waiting.gate);
  expect(opened.digest).toBe(waiting.gate?.digest);
  await app.post(`${at}/approve`, { decision: 'approve', ...waiting.gate });
  const { steps, gate: none } = await app.ended(workspace, id);
  expect([none, steps[1]?.decision]).toEqual([undefined, expect.objectContaining({ gate: waiting.gate, via: 'key' })]);
});

test('after a rejection an approval of an earlier round, or of none, is refused with what is open now', async () => {
  sayDone();
  const { workspace, id, waiting: first, decide, next } = await parked(SIGN);
  expect((await decide({ decision: 'reject', note: 'again' }))[0]).toBe(200);
  const second = await next(first);
  expect(second.gate?.round).toBe(2);
  await decide({ decision: 'reject', ...second.gate });
  const { gate } = await next(second);
  expect(gate?.round).toBe(3);
  for (const stale of [
    {},
    { step: 2 },
    { round: 2 },
    { round: 4 },
    { digest: second.gate?.digest },
    { ...second.gate },
    { round: 3, digest: second.gate?.digest },
  ])
    for (const decision of ['approve', 'reject'])
      expect(await decide({ decision, ...stale })).toEqual([409, changed(gate)]);
  expect((await decide({ decision: 'approve', round: 0 }))[0]).toBe(422);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  expect((await decide({ decision: 'approve', round: 3 }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a rejection further on reopens an earlier gate: its first approval is not good for the second', async () => {
  sayDone();
  const body = `${DRAFT}## Check\n\n- approve: human\n\nOK?\n\n## Sign\n\n- approve: human\n- on_reject: draft\n- max_rounds: 2\n\nRight?`;
  const { workspace, id, waiting: check, decide, next } = await parked(body);
  expect((await decide({ decision: 'approve', step: 2 }))[0]).toBe(200);
  const sign = await next(check);
  expect((await decide({ decision: 'reject', step: 3 }))[0]).toBe(200);
  const again = await next(sign);
  expect([again.step, again.gate?.round]).toEqual([2, 2]);
  expect(await decide({ decision: 'approve', step: 2 })).toEqual([409, changed(again.gate)]);
  expect((await decide({ decision: 'approve', digest: again.gate?.digest }))[0]).toBe(200);
  const last = await next(again);
  expect((await decide({ decision: 'approve', round: last.gate?.round }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a gate that the clock ended is open for another round, wherever the timeout leads', async () => {
  sayDone();
  const timed = (more: string) =>
    `${DRAFT}## Sign\n\n- approve: human\n- timeout: 2s\n${more}\n- max_rounds: 9\n\nRight?`;
  for (const more of ['- on_reject: draft', '- on_timeout: draft', '- on_timeout: fail\n- on_fail: draft']) {
    const { workspace, id, waiting, decide, next } = await parked(timed(more));
    const again = await next(waiting);
    await app.deps.db.query('UPDATE park SET due_at = NULL WHERE run_id = $1 AND decided_at IS NULL', [id]);
    expect([more, again.gate?.round, (await decide({ decision: 'approve' }))[0]]).toEqual([more, 2, 409]);
    expect((await decide({ decision: 'approve', ...again.gate }))[0]).toBe(200);
    expect((await app.ended(workspace, id)).status).toBe('completed');
  }
});

test('a tool’s calls: each turn is a round of its own, and a call that nobody read is not released', async () => {
  const commands = ['echo one', 'echo two', 'echo three'];
  provider.respond(({ body }) => {
    const turn = body.messages.filter((message: { role: string }) => message.role === 'tool').length;
    return commands[turn] ? { calls: [{ name: 'Bash', args: { command: commands[turn] } }] } : { text: 'after' };
  });
  const { workspace, id, waiting: one, decide, next } = await parked('## Work @worker\n\nDo it.');
  const other = await app.keyFor('editor');
  expect((await decide({ decision: 'approve' }))[0]).toBe(200);
  const two = await next(one);
  expect(two.gate?.round).toBe(2);
  // Another person's approval may have been made for the first call; the one who approved that may go on unnamed.
  expect(await decide({ decision: 'approve' }, other)).toEqual([409, changed(two.gate)]);
  expect(await decide({ decision: 'approve', ...one.gate })).toEqual([409, changed(two.gate)]);
  expect((await decide({ decision: 'reject' }))[0]).toBe(200);
  const three = await next(two);
  expect(await decide({ decision: 'approve', step: 1 })).toEqual([409, changed(three.gate)]);
  expect((await decide({ decision: 'approve', ...three.gate }, other))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a rejection in another branch does not make an unnamed decision about a gate that was open by then doubtful', async () => {
  provider.respond(({ body, prompt }) => {
    const turn = body.messages.filter((message: { role: string }) => message.role === 'tool').length;
    const branch = /BRANCH=(\w)/.exec(prompt)?.[1];
    return turn < (branch === 'x' ? 2 : 1)
      ? { calls: [{ name: 'Bash', args: { command: `echo ${branch}${turn}` } }] }
      : { text: 'after' };
  });
  const body = '## Both\n\n### X @worker\n\nBRANCH=x\n\n### Y @worker\n\nBRANCH=y';
  const { workspace, id, decide } = await parked(body);
  const gateOf = (run: RunView, step: string) => run.waiting.find((wait) => wait.id === step && wait.gate);
  const both = await app.until(workspace, id, (run) => Boolean(gateOf(run, 'x') && gateOf(run, 'y')));
  const [x, y] = [gateOf(both, 'x'), gateOf(both, 'y')];
  const other = await app.keyFor('editor');
  expect((await decide({ decision: 'approve', ...x?.gate }, other))[0]).toBe(200);
  await app.until(workspace, id, (run) => gateOf(run, 'x')?.gate?.round === 2);
  expect((await decide({ decision: 'reject', ...y?.gate }))[0]).toBe(200);
  expect(await decide({ decision: 'approve', step: x?.step }, other)).toMatchObject([200, { decided: 1 }]);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('questions: several open at once are told apart by digest, and an answer is for the question that was read', async () => {
  provider.respond(({ body, prompt }) => {
    const asked = body.messages.some((message: { role: string }) => message.role === 'tool');
    const which = /ITEM=\W*b/.test(prompt) ? 'b' : 'a';
    return asked ? { text: 'after' } : { calls: [{ name: 'ask_human', args: { question: `Which ${which}?` } }] };
  });
  const workspace = await app.workspace({
    ...AGENT,
    'flows/f.md': flow('## Ask @worker\n\n- each: run.tags\n- as: tag\n- parallel: 2\n\nITEM={{tag}}'),
  });
  const id = await app.start(workspace, 'f', { tags: ['a', 'b'] });
  const { waiting } = await app.until(workspace, id, (run) => run.waiting.filter(({ ask }) => ask).length === 2);
  expect(waiting.map(({ item }) => item).toSorted()).toEqual([1, 2]);
  const at = `/api/workspaces/${workspace}/runs/${id}/approve`;
  const both = await app.post(at, { decision: 'approve', step: 1, note: 'x' });
  expect([both.status, await bodyOf(both)]).toEqual([
    409,
    expect.objectContaining({
      waiting: expect.arrayContaining(
        waiting.map(({ gate, item }) => expect.objectContaining({ step: 1, gate, item })),
      ),
    }),
  ]);
  for (const { ask, gate } of waiting)
    expect((await app.post(at, { decision: 'approve', digest: gate?.digest, note: `to ${ask}` })).status).toBe(200);
  const gone = await app.post(at, { decision: 'approve', digest: waiting[0]?.gate?.digest, note: 'late' });
  expect(gone.status).toBe(409);
  expect((await app.ended(workspace, id)).status).toBe('completed');
  const answers = provider.calls.flatMap(({ body }) =>
    body.messages
      .filter(({ role }: { role: string }) => role === 'tool')
      .map(({ content }: { content: string }) => content),
  );
  expect(new Set(answers.filter((text: string) => text.startsWith('to ')))).toEqual(
    new Set(['to Which a?', 'to Which b?']),
  );
});

test('edits and forms: work that was changed under the decider is reviewed again, with a vote’s edits too', async () => {
  sayDone();
  const form = '```yaml form\namount: number\n```';
  const gate = `${DRAFT}## Sign\n\n- approve: human\n- need: 2\n- edit: [draft]\n\n${form}\n\nRight?`;
  const { workspace, id, waiting, decide } = await parked(gate);
  await app.deps.db.query(`UPDATE step SET result = 'swapped' WHERE run_id = $1 AND id = 'draft'`, [id]);
  const fill = { decision: 'approve', form: { amount: 1 } };
  const [status, refused] = await decide({ ...fill, ...waiting.gate });
  const now = (await app.run(workspace, id)).gate;
  expect([status, refused]).toEqual([409, changed(now)]);
  expect(now).not.toEqual(waiting.gate);
  expect((await decide({ ...fill, ...now, edits: { draft: 'mine' } }))[0]).toBe(200);
  const editor = await app.keyFor('editor');
  const edited = (await app.run(workspace, id)).gate;
  expect(await decide({ ...fill, ...now }, editor)).toEqual([409, changed(edited)]);
  expect((await decide({ ...fill, ...edited }, editor))[0]).toBe(200);
  expect((await app.ended(workspace, id)).steps[0]?.result).toBe('mine');
});

test('money: a budget that is used up again is a round of its own', async () => {
  provider.respond((call) => {
    const turn = Number((call.idempotencyKey ?? '').split('/')[5] ?? 0);
    const usage = usageOf(call);
    return turn >= 8 ? { text: 'done', usage } : { calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }], usage };
  });
  const {
    workspace,
    id,
    waiting: one,
    decide,
    next,
  } = await parked('## Work @worker\n\nGo.', 'budget: 0.05\non_budget: ask\n');
  expect((await decide({ decision: 'approve', ...one.gate }))[0]).toBe(200);
  const two = await next(one);
  expect(two.gate?.round).toBe(2);
  const other = await app.keyFor('editor');
  for (const stale of [{}, { ...one.gate }])
    expect(await decide({ decision: 'approve', ...stale }, other)).toEqual([409, changed(two.gate)]);
  expect((await app.run(workspace, id)).budgetUsd).toBe(0.1);
  expect((await decide({ decision: 'reject', ...two.gate }, other))[0]).toBe(200);
  await app.ended(workspace, id);
});

test('a link takes round and digest as every door does, and says what the gate shows now', async () => {
  sayDone();
  const { workspace, id, waiting, decide, next } = await parked(SIGN);
  await decide({ decision: 'reject' });
  const again = await next(waiting);
  const path = await linkOf(workspace, id, app.owner.email);
  for (const stale of [{ round: 1 }, { digest: waiting.gate?.digest }, { ...waiting.gate }]) {
    const refused = await app.post(path, { decision: 'approve', ...stale }, open());
    expect([refused.status, await bodyOf(refused)]).toEqual([409, changed(again.gate)]);
  }
  const form = await app.request(path, {
    ...open(),
    method: 'POST',
    body: new URLSearchParams({ decision: 'approve', round: '1' }),
  });
  expect(form.status).toBe(409);
  expect((await app.post(path, { decision: 'approve', ...again.gate }, open())).status).toBe(200);
  expect((await app.ended(workspace, id)).steps[1]?.decision).toMatchObject({ via: 'link', gate: again.gate });
});

test('note and reason of one decision are both kept', async () => {
  sayDone();
  const one = await parked(SIGN);
  await one.decide({ decision: 'approve', note: 'fine', reason: 'checked twice' });
  const two = await parked(SIGN);
  const path = await linkOf(two.workspace, two.id, app.owner.email);
  await app.post(path, { decision: 'approve', note: 'same', reason: 'same' }, open());
  const three = await parked(SIGN);
  const body = new URLSearchParams({ decision: 'approve', note: 'fine', reason: 'by form' });
  await app.request(await linkOf(three.workspace, three.id, app.owner.email), { ...open(), method: 'POST', body });
  const notes = [];
  for (const { workspace, id } of [one, two, three]) notes.push((await app.ended(workspace, id)).steps[1]?.decision);
  expect(notes).toMatchObject([{ note: 'fine\n\nchecked twice' }, { note: 'same' }, { note: 'fine\n\nby form' }]);
});

const open = () => ({ as: null, headers: { accept: 'application/json' } });

/** The path of the link to the run's open gate for an address. */
async function linkOf(workspace: string, runId: string, to: string): Promise<string> {
  const [row] = await app.deps.db.query<{ id: string }>(
    `SELECT id FROM park WHERE run_id = $1 AND kind = 'approval' ORDER BY opened_at DESC LIMIT 1`,
    [runId],
  );
  return linkPath(app.deps, { tenant: app.tenant, workspace, runId, park: row?.id ?? '', to });
}

test.each(['owner', 'role:admin', 'role:editor', 'their address'])(
  'a gate for %s is decided by a person who is signed in or has a link, and not by an API key',
  async (who) => {
    sayDone();
    const approve = who === 'their address' ? app.owner.email : who;
    const sign = `${DRAFT}## Sign\n\n- approve: [${approve}]\n\nRight?`;
    const { workspace, id, at, waiting, decide } = await parked(sign);
    const keys = [await app.keyFor('owner'), await app.keyFor('admin'), app.key];
    for (const key of keys) {
      const [status, body] = await decide({ decision: 'approve' }, key);
      expect([status, body]).toMatchObject([403, { need: approve }]);
    }
    expect((await decide({ decision: 'approve' }, keys[0]))[1].error).toContain('an API key decides gates of');
    expect(waiting.mayDecide).toBe(false);
    const asOwner = await asPerson(app, app.owner);
    const seen = (await (await app.get(at, asOwner)).json()) as RunView;
    expect(seen.waiting[0]?.mayDecide).toBe(true);
    expect((await app.post(`${at}/approve`, { decision: 'approve' }, asOwner)).status).toBe(200);
    const { steps } = await app.ended(workspace, id);
    expect(steps[1]?.trace.find(({ kind }) => kind === 'approval.decided')).toMatchObject({
      text: 'approved by a human',
      via: 'session',
      by: app.owner.email,
    });
  },
);

test('a key decides `approve: human`, beside named people too, and the trace and the audit say that a key did', async () => {
  sayDone();
  const { workspace, id, decide } = await parked(`${DRAFT}## Sign\n\n- approve: [human, owner]\n\nRight?`);
  expect((await decide({ decision: 'approve' }, await app.keyFor('viewer')))[0]).toBe(403);
  expect((await decide({ decision: 'approve' }))[0]).toBe(200);
  const { steps } = await app.ended(workspace, id);
  expect(steps[1]?.trace.find(({ kind }) => kind === 'approval.decided')).toMatchObject({
    text: 'approved by a human',
    via: 'key',
    by: 'admin',
  });
  const [entry] = await app.deps.db.query(
    `SELECT actor->>'kind' AS kind, detail FROM audit_entry WHERE action = 'run.decide' AND target = $1`,
    [id],
  );
  const gate = { round: 1, digest: expect.any(String) };
  expect(entry).toEqual({ kind: 'key', detail: { step: 'sign', decision: 'approve', via: 'key', gate } });
});

test('what escalates to the owner is decided by the owner and not by the owner’s key', async () => {
  sayDone();
  const sign = `${DRAFT}## Sign\n\n- approve: [boss@else.example]\n- escalate: { after: 1s, to: owner }\n\nRight?`;
  const { workspace, id, at, decide } = await parked(sign);
  await app.until(workspace, id, (run) =>
    run.steps.some(({ trace }) => trace.some(({ kind }) => kind === 'approval.escalated')),
  );
  expect((await decide({ decision: 'approve' }, await app.keyFor('owner')))[0]).toBe(403);
  expect((await app.post(`${at}/approve`, { decision: 'approve' }, await asPerson(app, app.owner))).status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a run’s decisions read in the audit trail as they were made: by whom, through which door, of what round', async () => {
  sayDone();
  const admin = await createPerson(app, 'admin');
  const { workspace, id, at, waiting, decide, next } = await parked(
    `${DRAFT}## Sign\n\n- approve: human\n- on_reject: draft\n- max_rounds: 3\n\nRight?\n\n## Pay\n\n- approve: [owner]\n\nPay?`,
  );
  await decide({ decision: 'reject', note: 'warmer', ...waiting.gate });
  const second = await next(waiting);
  expect((await decide({ decision: 'approve' }))[0]).toBe(409);
  const byLink = await app.post(await linkOf(workspace, id, app.owner.email), { decision: 'approve' }, open());
  expect(byLink.status).toBe(200);
  const pay = await next(second);
  expect((await decide({ decision: 'approve', ...pay.gate }, await app.keyFor('owner')))[0]).toBe(403);
  expect((await app.post(`${at}/approve`, { decision: 'approve' }, await asPerson(app, admin))).status).toBe(403);
  await app.post(`${at}/approve`, { decision: 'approve', ...pay.gate }, await asPerson(app, app.owner));
  await app.ended(workspace, id);
  const audit = await bodyOf(await app.get(`/api/audit?target=${id}`));
  const entries = (audit.entries as { action: string; actor: { kind: string }; detail: object }[]).toReversed();
  expect(entries.map(({ action, actor, detail }) => ({ action, by: actor.kind, detail }))).toMatchObject([
    { action: 'run.start', by: 'key' },
    { action: 'run.decide', by: 'key', detail: { step: 'sign', decision: 'reject', via: 'key', gate: waiting.gate } },
    { action: 'run.decide.refused', by: 'key', detail: { decision: 'approve', code: 'changed' } },
    { action: 'run.decide', by: 'link', detail: { step: 'sign', decision: 'approve', via: 'link', gate: second.gate } },
    { action: 'run.decide.refused', by: 'key', detail: { decision: 'approve', code: 'forbidden' } },
    { action: 'run.decide.refused', by: 'person', detail: { decision: 'approve', code: 'forbidden' } },
    {
      action: 'run.decide',
      by: 'person',
      detail: { step: 'pay', decision: 'approve', via: 'session', gate: pay.gate },
    },
  ]);
});
