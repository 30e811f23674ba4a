import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import { createKey, createTenant } from '../support/create-test-app.js';
import type { FakeAnswer, FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';
import { createPerson } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';
import { bodyOf } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

/** One turn of calls, then an answer. */
function play(calls: FakeAnswer['calls']): void {
  provider.respond(({ body }) => {
    const isFirst = !body.messages.some((message: { role: string }) => message.role === 'tool');
    return isFirst ? { calls: calls ?? [] } : { text: 'after' };
  });
}

const FILES = {
  'agents/worker.md':
    '---\ndescription: Works.\ntools: [ask_human, Bash, Read, Write]\napprove: [Bash]\n---\n\nYou work.\n',
  'flows/f.md': flow('## One @worker\n\nDo it.'),
};

/** A run of that workspace that stands at its gate. */
async function parked(workspace: string) {
  const id = await app.start(workspace, 'f');
  return app.until(workspace, id, (run) => run.status === 'awaiting-approval');
}

async function decide(workspace: string, id: string, body: object) {
  const response = await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, body);
  expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 200 });
  return app.ended(workspace, id);
}

function toolResults(): string[] {
  const messages: { role: string; content: string }[] = provider.calls.at(-1)?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

test('gated calls of one turn are one gate that shows each with its arguments and a digest of all of them', async () => {
  const long = `echo ${'x'.repeat(9_000)} END`;
  play([
    { name: 'Bash', args: { command: 'echo first' } },
    { name: 'Write', args: { path: 'outputs/a.md', content: 'not gated' } },
    { name: 'Bash', args: { command: long } },
  ]);
  const workspace = await app.workspace(FILES);
  const run = await parked(workspace);
  expect(run.waiting).toHaveLength(1);
  const [gate] = run.waiting;
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(gate?.calls).toEqual([
    { name: 'Bash', args: { command: 'echo first' }, digest },
    {
      name: 'Bash',
      args: `${JSON.stringify({ command: long }).slice(0, 4_000)}…`,
      digest,
      characters: JSON.stringify({ command: long }).length,
    },
  ]);
  expect(gate?.ask?.length).toBeLessThan(5_000);
  expect(new Set(gate?.calls?.map((call) => call.digest)).size).toBe(2);
  // What needs nobody has run already.
  expect(run.steps[0]?.trace.filter((line) => line.kind === 'tool.finished')).toHaveLength(1);
  await decide(workspace, run.id, { decision: 'approve' });
  expect(toolResults()).toEqual([
    expect.stringContaining('first'),
    expect.stringContaining('wrote outputs/a.md'),
    expect.stringContaining('END'),
  ]);
});

test('an approval is good for the arguments that were shown: others are not run', async () => {
  play([
    { name: 'Bash', args: { command: 'echo shown > outputs/shown.txt' } },
    { name: 'Bash', args: { command: 'echo same' } },
  ]);
  const workspace = await app.workspace(FILES);
  const run = await parked(workspace);
  await app.deps.db.query(
    `UPDATE message SET content = replace(content::text, 'echo shown', 'echo other')::jsonb WHERE run_id = $1`,
    [run.id],
  );
  const ended = await decide(workspace, run.id, { decision: 'approve' });
  expect(toolResults()).toEqual([
    'not approved: these are not the arguments that were approved. Make the call again to ask for approval.',
    expect.stringContaining('same'),
  ]);
  expect(ended.steps[0]?.files).toEqual([]);
});

test('several questions of one turn are answered one by one, or all by the note', async () => {
  play([
    { name: 'ask_human', args: { question: 'Which colour?' } },
    { name: 'ask_human', args: { question: 'Which size?' } },
  ]);
  const workspace = await app.workspace(FILES);
  const run = await parked(workspace);
  expect(run.waiting[0]).toMatchObject({
    ask: 'Which colour?\nWhich size?',
    form: {
      properties: {
        answer_1: { type: 'string', description: 'Which colour?' },
        answer_2: { type: 'string', description: 'Which size?' },
      },
    },
  });
  const wrong = { decision: 'approve', form: { answer_3: 'red' } };
  expect((await app.post(`/api/workspaces/${workspace}/runs/${run.id}/approve`, wrong)).status).toBe(422);
  await decide(workspace, run.id, { decision: 'approve', note: 'as usual', form: { answer_2: 'small' } });
  expect(toolResults()).toEqual(['as usual', 'small']);
});

test('GET /api/approvals lists all that waits for a person, in pages, for those who may see it', async () => {
  play([{ name: 'ask_human', args: { question: 'Which colour?' } }]);
  const gate = '---\ndescription: G.\n---\n\n## Sign it\n\n- approve: role:admin\n- need: 1\n\nIs it right?\n';
  const [one, two] = [await app.workspace(FILES), await app.workspace({ ...FILES, 'flows/g.md': gate })];
  const first = await parked(one);
  const second = await app.start(two, 'g');
  await app.until(two, second, (run) => run.status === 'awaiting-approval');
  const list = async (as?: string, query = '') => {
    const response = await app.get(`/api/approvals${query}`, as === undefined ? {} : { as });
    const body = await bodyOf(response);
    expect(response.status).toBe(200);
    return body as { approvals: Record<string, unknown>[]; next: string | null };
  };
  const ids = ({ approvals }: { approvals: Record<string, unknown>[] }) => approvals.map(({ runId }) => runId);
  const all = await list();
  expect(ids(all)).toEqual([first.id, second]);
  expect(all.next).toBe(null);
  expect(all.approvals).toMatchObject([
    {
      workspace: one,
      flow: 'f',
      step: 1,
      id: 'one',
      title: 'One',
      ask: 'Which colour?',
      need: 1,
      decided: 0,
      mayDecide: true,
      due: null,
      calls: [{ name: 'ask_human', question: 'Which colour?' }],
      summary: 'f: One',
    },
    { workspace: two, flow: 'g', id: 'sign_it', ask: 'Is it right?', approvers: ['role:admin'], mayDecide: false },
  ]);
  const page = await list(undefined, '?limit=1');
  expect(ids(page)).toEqual([first.id]);
  expect(ids(await list(undefined, `?limit=1&cursor=${page.next}`))).toEqual([second]);
  expect((await app.get('/api/approvals?cursor=nonsense')).status).toBe(422);
  // A key decides what is open to all; an admin who is signed in decides what a role is named for.
  const admin = await asPerson(app, await createPerson(app, 'admin'));
  const mine = (await bodyOf(await app.get('/api/approvals', admin))) as { approvals: { mayDecide: boolean }[] };
  expect(mine.approvals.map(({ mayDecide }) => mayDecide)).toEqual([true, true]);
  // An editor may see both and decide one, a viewer sees them and decides none.
  expect((await list(await app.keyFor('editor'))).approvals.map(({ mayDecide }) => mayDecide)).toEqual([true, false]);
  expect((await list(await app.keyFor('viewer'))).approvals.map(({ mayDecide }) => mayDecide)).toEqual([false, false]);
  const scoped = await createKey(app.deps, { ...app, role: 'admin', workspaces: [two] });
  expect(ids(await list(scoped))).toEqual([second]);
  const other = await createTenant(app.deps);
  expect(ids(await list(await createKey(app.deps, { ...other, role: 'admin' })))).toEqual([]);
  await app.post(`/api/workspaces/${two}/runs/${second}/approve`, { decision: 'approve' }, admin);
  expect(ids(await list())).toEqual([first.id]);
  await app.post(`/api/workspaces/${one}/runs/${first.id}/stop`, {});
  expect(ids(await list())).toEqual([]);
});
