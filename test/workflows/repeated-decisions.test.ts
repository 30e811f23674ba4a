import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApprovalList, RunView } from '../../src/contract/runs.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { linkPath } from '../support/links.js';
import { changed, parkedRun, type Wait } from '../support/parked-run.js';
import { createPlayedApp, usageOf } from '../support/played-app.js';
import { bodyOf } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

const DRAFT = '## Draft @worker\n\nDraft.\n\n';
const CHECK = "## Check @worker\n\n- until: self.result == 'good'\n- back_to: draft\n- max_rounds: 3\n\nCheck it.";
const loop = (gate: string) => `${DRAFT}## Sign\n\n- approve: human\n${gate}\n\n${CHECK}`;
const approve = { decision: 'approve' };

/** The flow goes back to its draft so many times, without a rejection. */
function goBack(times: number): void {
  let checks = 0;
  provider.respond(({ prompt }) => {
    if (!prompt.includes('Check it.')) return { text: 'a draft' };
    checks += 1;
    return { text: checks > times ? 'good' : 'again' };
  });
}

test('an approval that names no round and comes twice does not approve the step’s next gate, with or without the step', async () => {
  goBack(2);
  const { workspace, id, waiting: first, decide, next } = await parkedRun(app, loop('\nRight?'));
  expect((await decide(approve))[0]).toBe(200);
  const second = await next(first);
  expect(second.gate?.round).toBe(2);
  for (const repeated of [approve, { ...approve, step: 2 }, { ...approve, note: 'sent again' }])
    expect(await decide(repeated)).toEqual([409, changed(second.gate)]);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  // Who named the second round, and names none of the third, has not sent that request before; the first one counts.
  expect((await decide({ ...approve, round: 2 }))[0]).toBe(200);
  const third = await next(second);
  expect(await decide(approve)).toEqual([409, changed(third.gate)]);
  expect(await decide({ ...approve, round: 2 })).toEqual([409, changed(third.gate)]);
  expect((await decide({ ...approve, ...third.gate }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('an approval by a named round, and one of none after it, are two requests', async () => {
  goBack(1);
  const { workspace, id, waiting, decide, next } = await parkedRun(app, loop('\nRight?'));
  expect((await decide({ ...approve, round: 1 }))[0]).toBe(200);
  await next(waiting);
  expect((await decide(approve))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a key of its own makes an unnamed approval another request, and the same key answers as it did first', async () => {
  goBack(1);
  const { workspace, id, waiting, decide, next } = await parkedRun(app, loop('\nRight?'));
  const once = (key: string) => decide(approve, undefined, { 'Idempotency-Key': `${id}-${key}` });
  const done = [200, { ok: true, decided: 1, need: 1 }];
  expect(await once('one')).toEqual(done);
  const second = await next(waiting);
  expect(await once('one')).toEqual(done);
  expect(await decide(approve)).toEqual([409, changed(second.gate)]);
  expect((await app.run(workspace, id)).gate).toEqual(second.gate);
  expect(await once('two')).toEqual(done);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('two deciders who send the same idempotency key are two votes, and each is answered as they were first', async () => {
  goBack(0);
  const { workspace, id, decide } = await parkedRun(app, loop('- need: 2\n\nRight?'));
  const headers = { 'Idempotency-Key': `${id}-sign` };
  const [one, two] = [await app.keyFor('editor'), await app.keyFor('editor')];
  const first = [200, { ok: true, decided: 1, need: 2 }];
  expect(await decide(approve, one, headers)).toEqual(first);
  expect(await decide(approve, one, headers)).toEqual(first);
  expect(await decide(approve, two, headers)).toEqual([200, { ok: true, decided: 2, need: 2 }]);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a key of its own is no way past a rejection', async () => {
  goBack(0);
  const { waiting, decide, next } = await parkedRun(app, loop('- on_reject: draft\n- max_rounds: 2\n\nRight?'));
  await decide({ decision: 'reject' });
  const { gate } = await next(waiting);
  expect(await decide(approve, undefined, { 'Idempotency-Key': 'after-rejection' })).toEqual([409, changed(gate)]);
});

test('gates of different steps are each approved without a round by one key, as before', async () => {
  goBack(0);
  const gates = ['Sign', 'Pay', 'Send'].map((title) => `## ${title}\n\n- approve: human\n\n${title}?`).join('\n\n');
  const { workspace, id, waiting, decide, next } = await parkedRun(app, `${DRAFT}${gates}`);
  expect((await decide(approve))[0]).toBe(200);
  const second = await next(waiting);
  expect((await decide(approve))[0]).toBe(200);
  await next(second);
  expect((await decide({ ...approve, step: 4 }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('one vote of several that the clock ended is not taken for the next gate when it is sent again', async () => {
  goBack(0);
  const gate = '- need: 2\n- timeout: 6s\n- on_timeout: draft\n- max_rounds: 2\n\nRight?';
  const { id, waiting, decide, next } = await parkedRun(app, loop(gate));
  expect(await decide(approve)).toEqual([200, { ok: true, decided: 1, need: 2 }]);
  expect(await decide(approve)).toEqual([200, { ok: true, decided: 1, need: 2 }]);
  const again = await next(waiting);
  await app.deps.db.query('UPDATE park SET due_at = NULL WHERE run_id = $1 AND decided_at IS NULL', [id]);
  expect(await decide(approve)).toEqual([409, changed(again.gate)]);
  const other = await app.keyFor('editor');
  expect(await decide(approve, other)).toEqual([409, changed(again.gate)]);
  expect(await decide({ ...approve, ...again.gate }, other)).toEqual([200, { ok: true, decided: 1, need: 2 }]);
});

/** The refusal of a decision that may be meant for another item's gate. To repeat it with the round changes nothing. */
function ofItem(item: number, gate: unknown, error: string) {
  return {
    ...changed(gate),
    error: expect.stringMatching(new RegExp(`${error}.*send the digest of the gate`)),
    waiting: [expect.objectContaining({ step: 1, item, gate })],
  };
}

test('items: an approval that was meant for one item decides no other item, whoever sends it, with its round too', async () => {
  provider.respond(({ body }) =>
    body.messages.some((message: { role: string }) => message.role === 'tool')
      ? { text: 'after' }
      : { calls: [{ name: 'Bash', args: { command: 'echo' } }] },
  );
  const body = '## Work @worker\n\n- each: run.tags\n- as: tag\n\nITEM={{tag}}';
  const { workspace, id, waiting, decide, next } = await parkedRun(app, body, { start: { tags: ['a', 'b'] } });
  const other = await app.keyFor('editor');
  expect((await decide(approve))[0]).toBe(200);
  const second = await next(waiting);
  expect([waiting.item, second.item, second.gate?.round]).toEqual([1, 2, 1]);
  const list = (await (await app.get('/api/approvals?limit=200')).json()) as ApprovalList;
  expect(list.approvals.find(({ runId }) => runId === id)?.item).toBe(2);
  for (const unnamed of [approve, { ...approve, step: 1 }, { ...approve, round: 1 }, { decision: 'reject' }])
    expect(await decide(unnamed, other)).toEqual([409, ofItem(2, second.gate, 'was decided without you')]);
  // Who decided the first item knows that it is decided.
  expect((await decide(approve, undefined, { 'Idempotency-Key': `${id}-second` }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('a tool’s calls: an approval that comes twice does not release the next call, of this item or of another', async () => {
  provider.respond(({ body, prompt }) => {
    const turn = body.messages.filter((message: { role: string }) => message.role === 'tool').length;
    const item = /ITEM=\W*b/.test(prompt) ? 'b' : 'a';
    return turn < 2 ? { calls: [{ name: 'Bash', args: { command: `echo ${item}${turn}` } }] } : { text: 'after' };
  });
  const body = '## Work @worker\n\n- each: run.tags\n- as: tag\n\nITEM={{tag}}';
  const { workspace, id, waiting, decide, next } = await parkedRun(app, body, { start: { tags: ['a', 'b'] } });
  const rounds: number[] = [];
  let open: Wait = waiting;
  for (const command of ['echo a0', 'echo a1', 'echo b0', 'echo b1']) {
    expect(open.calls).toMatchObject([{ args: { command } }]);
    const { round, digest } = open.gate ?? {};
    rounds.push(round ?? 0);
    if (command === 'echo a1') expect(await decide(approve)).toEqual([409, changed(open.gate)]);
    const sentBefore = [409, ofItem(2, open.gate, 'you made the same decision about another gate')];
    if (command.startsWith('echo b')) expect(await decide(approve)).toEqual(sentBefore);
    // The second round of the first item was approved by its round alone, which is not that item's.
    if (command === 'echo b1') expect(await decide({ ...approve, round })).toEqual(sentBefore);
    const named = command === 'echo a0' ? {} : command === 'echo a1' ? { round } : { digest };
    expect((await decide({ ...approve, ...named }))[0]).toBe(200);
    if (command !== 'echo b1') open = await next(open);
  }
  expect(rounds).toEqual([1, 2, 1, 2]);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('questions: an answer that comes twice is not the answer to the next question, and another answer is', async () => {
  provider.respond(({ body }) => {
    const turn = body.messages.filter((message: { role: string }) => message.role === 'tool').length;
    return turn < 2 ? { calls: [{ name: 'ask_human', args: { question: `Which ${turn}?` } }] } : { text: 'after' };
  });
  const { workspace, id, waiting, decide, next } = await parkedRun(app, '## Ask @worker\n\nAsk.');
  expect((await decide({ ...approve, note: 'red' }))[0]).toBe(200);
  const second = await next(waiting);
  expect(await decide({ ...approve, note: 'red' })).toEqual([409, changed(second.gate)]);
  expect((await decide({ ...approve, note: 'large' }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('forms and edits: what was sent once is refused at the next gate, and what says other things is another request', async () => {
  goBack(2);
  const gate = '- edit: [draft]\n\n```yaml form\namount: number\n```\n\nRight?';
  const { workspace, id, waiting, decide, next } = await parkedRun(app, loop(gate));
  const filled = { ...approve, form: { amount: 1 }, edits: { draft: 'mine' } };
  expect((await decide(filled))[0]).toBe(200);
  const second = await next(waiting);
  expect(await decide(filled)).toEqual([409, changed(second.gate)]);
  expect((await app.run(workspace, id)).steps[0]?.result).toBe('a draft');
  expect((await decide({ ...filled, form: { amount: 2 } }))[0]).toBe(200);
  const third = await next(second);
  expect(await decide(filled)).toEqual([409, changed(third.gate)]);
  expect((await decide({ ...filled, edits: { draft: 'another' } }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).steps[0]?.result).toBe('another');
});

test('money: an approval that comes twice does not raise the budget twice, at whichever step it is used up next', async () => {
  provider.respond((call) => {
    const turn = Number((call.idempotencyKey ?? '').split('/')[5] ?? 0);
    const usage = usageOf(call);
    return turn >= 4 ? { text: 'done', usage } : { calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }], usage };
  });
  const { workspace, id, waiting, decide, next } = await parkedRun(
    app,
    '## One @worker\n\nGo.\n\n## Two @worker\n\nGo.',
    { frontmatter: 'budget: 0.05\non_budget: ask\n' },
  );
  expect([waiting.step, (await decide(approve))[0]]).toEqual([1, 200]);
  const second = await next(waiting);
  expect([second.step, second.gate?.round]).toEqual([2, 1]);
  expect(await decide(approve)).toEqual([409, changed(second.gate)]);
  expect((await app.run(workspace, id)).budgetUsd).toBe(0.1);
  expect((await decide({ ...approve, step: 2 }))[0]).toBe(200);
  await app.until(workspace, id, (run: RunView) => run.budgetUsd === 0.15);
});

test('a link is made for one gate: its page and its POST decide no later one, and do not speak for other requests', async () => {
  goBack(2);
  const { workspace, id, waiting, decide, next } = await parkedRun(app, loop('\nRight?'));
  const linkOf = async (to: string) => {
    const [row] = await app.deps.db.query<{ park: string }>(
      'SELECT id AS park FROM park WHERE run_id = $1 AND decided_at IS NULL',
      [id],
    );
    return linkPath(app.deps, { tenant: app.tenant, workspace, runId: id, park: row?.park ?? '', to });
  };
  const open = { as: null, headers: { accept: 'application/json' } };
  const first = await linkOf(app.owner.email);
  expect((await app.post(first, approve, open)).status).toBe(200);
  const second = await next(waiting);
  for (const [sent, as] of [
    [await app.post(first, approve, open), 'a program'],
    [await app.request(first, { ...open, method: 'POST', body: new URLSearchParams(approve) }), 'a form'],
  ] as const)
    expect([as, sent.status, await bodyOf(sent)]).toMatchObject([as, 409, { decided: { step: 2 } }]);
  expect((await app.run(workspace, id)).gate).toEqual(second.gate);
  expect((await app.post(await linkOf(app.owner.email), approve, open)).status).toBe(200);
  const third = await next(second);
  expect(await decide(approve)).toEqual([409, changed(third.gate)]);
  expect((await app.post(await linkOf(app.owner.email), approve, open)).status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('an approval for a gate that lost a join: any does not approve the gate that a jump back opens again', async () => {
  goBack(1);
  const race =
    '## Race\n\n- join: any\n\n### Quick\n\n- approve: human\n\nQ?\n\n### Slow\n\n- approve: human\n\nS?\n\n';
  const { workspace, id, decide } = await parkedRun(app, `${DRAFT}${race}${CHECK}`);
  const slow = ({ waiting }: RunView) => waiting.find((wait) => wait.title === 'Slow');
  const bothAreOpen = (run: RunView) => run.waiting.length === 2;
  const first = slow(await app.until(workspace, id, bothAreOpen));
  expect((await decide({ ...approve, step: 2 }))[0]).toBe(200);
  const isAgain = (run: RunView) => bothAreOpen(run) && slow(run)?.gate?.round === 2;
  const second = slow(await app.until(workspace, id, isAgain));
  const late = { ...approve, step: 3 };
  // It may have been sent for the first round, which was never decided and had another draft.
  for (const headers of [{}, { 'Idempotency-Key': `${id}-late` }])
    expect(await decide(late, undefined, headers)).toEqual([409, changed(second?.gate)]);
  expect((await decide({ ...late, ...first?.gate }))[0]).toBe(409);
  expect((await decide({ ...late, ...second?.gate }))[0]).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});
