import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { sendWithRetry } from '../support/send-with-retry.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const GATE =
  '## Draft @worker\n\nDraft.\n\n## Sign\n\n- approve: human\n\nIs {{steps.draft.result}} right?\n\n## Send @worker\n\nSend.';
const SCRIPT = '- { text: "a draft" }\n';

async function parked(body: string, frontmatter = '') {
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/g.md': flow(body, frontmatter) });
  const id = await app.start(workspace, 'g');
  // A park that a clock ends soon may be over before anybody looks.
  await app.until(workspace, id, (run) => run.waiting.length > 0 || run.finishedAt !== null);
  return { workspace, id, at: `/api/workspaces/${workspace}/runs/${id}` };
}

/** Decisions at once, every other one a rejection. One that a busy database turned away is sent again, as a client does. */
const rivals = (at: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      sendWithRetry(() => app.post(`${at}/approve`, { decision: n % 2 === 0 ? 'approve' : 'reject' })),
    ),
  );

const texts = (run: { steps: readonly { trace: readonly { text: string }[] }[] }, n: number) =>
  run.steps[n - 1]?.trace.map((line) => line.text);

test('a gate parks the run as awaiting-approval, and an approval lets it go on', async () => {
  const { workspace, id, at } = await parked(GATE);
  const waiting = await app.run(workspace, id);
  expect(waiting.status).toBe('awaiting-approval');
  expect(waiting.waiting).toMatchObject([
    { step: 2, id: 'sign', kind: 'approval', ask: expect.stringMatching(/^Is a draft right\?$/) },
  ]);
  const answer = await app.post(`${at}/approve`, { decision: 'approve', note: 'fine' });
  expect([answer.status, await answer.json()]).toEqual([200, { ok: true, decided: 1, need: 1 }]);
  const run = await app.ended(workspace, id);
  expect(run.status).toBe('completed');
  expect(texts(run, 2)).toContain('approved by a human');
  expect(run.steps[1]?.decision).toMatchObject({ decision: 'approve', note: 'fine' });
});

test('a rejection fails the run with who and why, unless on_reject says otherwise', async () => {
  const stop = await parked(GATE);
  await app.post(`${stop.at}/approve`, { decision: 'reject', reason: 'too long' });
  const failed = await app.ended(stop.workspace, stop.id);
  expect([failed.status, failed.error]).toEqual(['failed', 'rejected by admin: too long']);
  expect(texts(failed, 2)).toContain('rejected by a human');
  expect(failed.steps[2]?.status).toBe('pending');

  const go = await parked(GATE.replace('- approve: human', '- approve: human\n- on_reject: continue'));
  await app.post(`${go.at}/approve`, { decision: 'reject' });
  expect((await app.ended(go.workspace, go.id)).status).toBe('completed');
});

test('on_reject back to a step hands it the note and keeps both versions', async () => {
  const { workspace, id, at } = await parked(
    GATE.replace('- approve: human', '- approve: human\n- on_reject: draft\n- max_rounds: 2'),
  );
  await app.post(`${at}/approve`, { decision: 'reject', note: 'warmer' });
  const again = await app.until(workspace, id, (run) => run.steps[0]?.round === 2 && run.waiting.length > 0);
  expect(again.steps[0]?.rounds).toHaveLength(1);
  await app.post(`${at}/approve`, { decision: 'approve', ...again.gate });
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('two open gates and no step named are a conflict that lists both', async () => {
  const { workspace, id, at } = await parked(
    '## Both\n\n### Left\n\n- approve: human\n\nL?\n\n### Right\n\n- approve: human\n\nR?\n\n## After @worker\n\nGo.',
  );
  await app.until(workspace, id, (run) => run.waiting.length === 2);
  const both = await app.post(`${at}/approve`, { decision: 'approve' });
  expect(both.status).toBe(409);
  expect(await both.json()).toMatchObject({ waiting: [{ step: 1 }, { step: 2 }] });
  await app.post(`${at}/approve`, { decision: 'approve', step: 1 });
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  await app.post(`${at}/approve`, { decision: 'approve', step: 2 });
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('need: 2 counts distinct people, and a partial approval says how many', async () => {
  const { workspace, id, at } = await parked(GATE.replace('- approve: human', '- approve: human\n- need: 2'));
  const first = await app.post(`${at}/approve`, { decision: 'approve' });
  expect(await first.json()).toEqual({ ok: true, decided: 1, need: 2 });
  const same = await app.post(`${at}/approve`, { decision: 'approve' });
  expect(await same.json()).toEqual({ ok: true, decided: 1, need: 2 });
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
});

test('a gate for addresses or roles refuses everybody else with 403', async () => {
  const { at } = await parked(GATE.replace('- approve: human', '- approve: [somebody@else.example]'));
  const refused = await app.post(`${at}/approve`, { decision: 'approve' });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ error: expect.stringContaining('somebody@else.example') });
});

test('an unattended gate rejects by default, and continues only where the flow says so; no timeout approves', async () => {
  const rejects = await parked(GATE.replace('- approve: human', '- approve: human\n- timeout: 1s'));
  const failed = await app.ended(rejects.workspace, rejects.id);
  expect([failed.status, failed.error]).toEqual(['failed', 'rejected: no decision in time']);
  const late = await app.post(`${rejects.at}/approve`, { decision: 'approve' });
  expect(late.status).toBe(409);
  const goes = await parked(
    GATE.replace('- approve: human', '- approve: human\n- timeout: 1s\n- on_timeout: continue'),
  );
  const done = await app.ended(goes.workspace, goes.id);
  expect(done.steps[1]?.decision).toMatchObject({ decision: 'timeout' });
  expect(done.status).toBe('completed');
});

test('times of millions of years are taken as the longest there is: what parks can be decided', async () => {
  const LONG = '999999999w';
  const options = `- approve: human\n- timeout: ${LONG}\n- remind: ${LONG}`;
  const { workspace, id, at } = await parked(GATE.replace('- approve: human', options), `timeout: ${LONG}\n`);
  expect((await app.run(workspace, id)).waiting).toMatchObject([{ step: 2, kind: 'approval' }]);
  expect((await app.post(`${at}/approve`, { decision: 'approve' })).status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
  const asleep = await parked(`## Sleep\n\n- wait: ${LONG}\n\n## Send @worker\n\n- timeout: ${LONG}\n\nSend.`);
  expect((await app.run(asleep.workspace, asleep.id)).waiting).toMatchObject([{ step: 1, kind: 'timer' }]);
  expect((await app.post(`${asleep.at}/stop`)).status).toBe(200);
  await app.ended(asleep.workspace, asleep.id);
});

const EVENT = '## Ask @worker\n\n- wait: event\n\nAsk at {{step.release_url}}.\n\n## Use @worker\n\nUse it.';

test('an event releases a wait: event step, its body becomes the payload, and the trace says so to the letter', async () => {
  const { workspace, id } = await parked(EVENT);
  const waiting = await app.until(workspace, id, (run) => run.steps[0]?.status === 'waiting');
  expect(waiting.status).toBe('running');
  const [wait] = waiting.waiting;
  const url = new URL(wait?.releaseUrl ?? '');
  expect(texts(waiting, 1)?.some((text) => text.includes(url.href))).toBe(true);
  const path = url.pathname + url.search;
  const wrong = await app.post(path.replace(/token=[^&]*/, 'token=nope'), { a: 1 }, { as: null });
  expect(wrong.status).toBe(401);
  const released = await app.post(path, { photo: 'x.jpg' }, { as: null });
  expect(released.status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run.steps[0]?.eventPayload).toEqual({ photo: 'x.jpg' });
  expect(texts(run, 1)).toContain('approved by an external event');
  const again = await app.post(path, { photo: 'y.jpg' }, { as: null });
  expect(again.status).toBe(409);
});

test('an event that comes while the step still works is kept', async () => {
  const workspace = await app.workspace({
    ...scripted('- { when: { step: ask }, text: "asked and asked again", delayMs: 800 }\n- { text: used }\n'),
    'flows/g.md': flow(EVENT),
  });
  const id = await app.start(workspace, 'g');
  const early = await app.until(workspace, id, (run) => run.waiting.length > 0);
  expect(early.steps[0]?.status).toBe('running');
  const url = new URL(early.waiting[0]?.releaseUrl ?? '');
  expect((await app.post(url.pathname + url.search, { early: true }, { as: null })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run.steps[0]).toMatchObject({ eventPayload: { early: true }, result: 'asked and asked again' });
});

test('a gate that says nothing shows the newest result before it', async () => {
  const { workspace, id } = await parked('## Draft @worker\n\nDraft.\n\n## Sign\n\n- approve: human');
  expect((await app.run(workspace, id)).waiting[0]?.ask).toBe('a draft');
});

test('two steps that wait for an event, and none named, are a conflict that lists both', async () => {
  const { workspace, id } = await parked(
    '## Both\n\n### Left\n\n- wait: event\n\n### Right\n\n- wait: event\n\n## After @worker\n\nGo.',
  );
  const { waiting } = await app.until(workspace, id, (run) => run.waiting.length === 2);
  const [left = '', right = ''] = waiting.map(
    ({ releaseUrl = '' }) => new URL(releaseUrl).pathname + new URL(releaseUrl).search,
  );
  const unnamed = await app.post(left.replace(/&step=.*/, ''), {}, { as: null });
  expect([unnamed.status, await unnamed.json()]).toMatchObject([
    409,
    { error: expect.stringContaining('left, right'), waiting: [{ id: 'left' }, { id: 'right' }] },
  ]);
  expect((await app.post(right, { of: 'right' }, { as: null })).status).toBe(200);
  expect((await app.post(right, {}, { as: null })).status).toBe(409);
  expect((await app.post(left.replace(/&step=.*/, ''), { of: 'left' }, { as: null })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run.steps.map((step) => step.eventPayload)).toEqual([{ of: 'left' }, { of: 'right' }, undefined]);
});

test('security 11: a viewer sees the release address without its token', async () => {
  const { at } = await parked(EVENT);
  const viewer = await app.keyFor('viewer');
  const text = await (await app.get(at, { as: viewer })).text();
  expect(text).toContain('token=…');
  expect(text).not.toMatch(/token=[A-Za-z0-9_-]{20}/);
});

test('a timer is a durable wait, and the run goes on by itself', async () => {
  const { workspace, id } = await parked('## Wait\n\n- wait: 4s\n\n## After @worker\n\nGo.');
  expect((await app.run(workspace, id)).waiting).toMatchObject([{ kind: 'timer' }]);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('the timeout of the flow counts parks too', async () => {
  const { workspace, id } = await parked(GATE, 'timeout: 2s\n');
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['failed', 'the run took longer than its timeout']);
  expect(run.steps[1]?.status).toBe('failed');
  expect(run.waiting).toEqual([]);
});

test('security 2: of 40 rival decisions one gets 200, the rest are told what was decided, by whom and when', async () => {
  const { workspace, id, at } = await parked(GATE);
  const answers = await rivals(at, 40);
  const won = answers.filter((answer) => answer.status === 200);
  const lost = answers.filter((answer) => answer.status === 409);
  expect([won.length, lost.length]).toEqual([1, 39]);
  for (const answer of lost)
    expect(await answer.json()).toMatchObject({
      error: expect.stringMatching(/(approved|rejected) by admin at |the run has ended/),
    });
  const run = await app.ended(workspace, id);
  expect(run.steps[1]?.trace.filter((line) => line.kind === 'approval.decided')).toHaveLength(1);
});

test('security 2: a stop among rival decisions either wins, or stops what the winner let go on', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { workspace, id, at } = await parked(GATE);
    const stopping = sendWithRetry(() => app.post(`${at}/stop`));
    const answers = await rivals(at, 20);
    const stopped = await stopping;
    expect(stopped.status).toBe(200);
    expect(answers.filter((answer) => answer.status === 200).length).toBeLessThanOrEqual(1);
    const run = await app.ended(workspace, id);
    const { stopped: did } = (await stopped.json()) as { stopped: boolean };
    expect(run.stopped).toBe(did);
    if (did) expect(run.error).toBe('stopped by admin');
    expect(run.waiting).toEqual([]);
  }
});
